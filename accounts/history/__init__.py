"""Customers in the audit log and in events, which an erasure makes unreadable."""
