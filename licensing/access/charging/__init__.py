"""What accesses cost, and how wallets pay it."""
