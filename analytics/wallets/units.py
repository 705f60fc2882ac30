"""Units of wallets."""

from decimal import Decimal

from kit.values.currencies import CURRENCIES, in_full

ACCESS = "access"  # the unit of a quota, where others are currencies
UNITS = [ACCESS, *CURRENCIES]


def in_units(amount: Decimal | int, unit: str) -> str:
    """Return text such as "9,999 accesses" or "12.50 USD"."""
    if unit == ACCESS:
        return f"{amount:,.0f} access{'' if amount == 1 else 'es'}"
    return in_full(Decimal(amount), unit)
