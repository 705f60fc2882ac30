"""Filters of the list of wallets."""

from analytics.ledger.filters import IS_CODE
from analytics.wallets.units import ACCESS
from kit.rest.filters import ORDER, Kind, Operand, OperatorFilterSet, identifier, text, timestamp


def parse_unit(value: str) -> str:
    """Return a unit; withdrawn currencies remain valid for old wallets. Raises ValueError."""
    if value != ACCESS and not IS_CODE(value):
        raise ValueError(f"Must be {ACCESS}, or a currency's three capital letters, such as EUR.")
    return value


UNIT = Kind(parse_unit, {"type": "string", "pattern": f"^({ACCESS}|[A-Z]{{3}})$"})


class WalletFilters(OperatorFilterSet):
    operands = {
        "requesterId": Operand(text, "requester__requester_id"),
        "licenseId": Operand(identifier("lic"), "license_id", optional=True),
        "unit": Operand(UNIT),
        "created": Operand(timestamp, operators=ORDER),
    }
