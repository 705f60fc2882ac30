"""Requesters, their licences, the ledger and statements."""
