"""The prices of accesses, and payment from wallets."""
