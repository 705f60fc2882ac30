"""Policies: the form of their rules, their versions, the simulator."""
