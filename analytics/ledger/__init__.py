"""The ledger: what was earned and given back."""
