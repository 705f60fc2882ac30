"""Signing in: the form, its limits, the second factor, sessions."""
