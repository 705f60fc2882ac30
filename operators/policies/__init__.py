"""Policies: the form of their rules, versions, and the simulator."""
