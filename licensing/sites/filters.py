"""Filters for site lists."""

from accounts.models import Unknown
from kit.rest.filters import ORDER, Kind, Operand, OperatorFilterSet, choice, identifier, text, timestamp
from kit.values.hosts import parse_host
from licensing.policies.modes import MODES


def read_host(value: str) -> str:
    """Return a host in normal form; no site has a host that is not valid."""
    try:
        return parse_host(value)
    except ValueError:
        return value


class SiteFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("site")),
        "host": Operand(Kind(read_host, text.schema)),
        "mode": Operand(choice(MODES)),
        "unknown": Operand(choice(Unknown)),
        "verifiedAt": Operand(timestamp, "verified_at", operators=ORDER, optional=True),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
    }
