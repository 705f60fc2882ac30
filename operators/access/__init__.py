"""Accounts, API keys, webhooks and the audit log."""
