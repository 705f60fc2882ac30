"""Customers, wallets, payments, the ledger and statements in the admin."""
