"""Checks that wallets pay."""
