"""Wallets: credit granted in advance, in a currency or in accesses, and its use."""
