"""Statements: the ledger by requester, month and currency, closed a month at a time."""
