"""Accounts and their plans."""
