"""Payments received from requesters, which statements include."""
