"""Units of wallets."""

ACCESS = "access"  # the unit of a quota, where others are currencies
