"""Wallets: credit that was granted in advance, in a currency or in accesses, and what became of it."""
