"""The ledger of revenue and refunds."""
