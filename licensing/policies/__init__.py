"""Policies: rules, the pure decision on them, and the endpoints."""
