"""Requesters, their licences and the ledger."""
