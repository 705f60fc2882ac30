"""Policies: rules, the pure decision function, and the endpoints."""
