"""Units of wallets."""

from kit.values.currencies import CURRENCIES

ACCESS = "access"  # the unit of a quota, where others are currencies
UNITS = [ACCESS, *CURRENCIES]
