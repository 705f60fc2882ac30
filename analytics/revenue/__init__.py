"""The revenue report: the ledger's totals in any currency."""
