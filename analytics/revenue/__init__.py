"""The revenue report: the ledger added up, in any currency."""
