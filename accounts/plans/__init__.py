"""Accounts and what their plans allow."""
