"""Signing in: forms, rate limits, second factor, sessions."""
