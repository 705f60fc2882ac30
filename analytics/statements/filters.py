"""Filters of statements."""

import re
from datetime import date

from analytics.wallets.filters import UNIT
from kit.rest.filters import ORDER, Kind, Operand, OperatorFilterSet, text

IS_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])").fullmatch


def parse_month(value: str) -> date:
    """Return the first day of a month such as 2026-01. Raises ValueError."""
    if not IS_MONTH(value) or value.startswith("0000"):
        raise ValueError("Must be a month such as 2026-01.")
    return date.fromisoformat(f"{value}-01")


def parse_status(value: str) -> bool:
    """Return whether `closed_at` is null for this status. Raises ValueError."""
    if value not in ("open", "closed"):
        raise ValueError("Must be one of: open, closed.")
    return value == "open"


MONTH = Kind(parse_month, {"type": "string", "pattern": "^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])$"})
STATUS = Kind(parse_status, {"type": "string", "enum": ["open", "closed"]})


class StatementFilters(OperatorFilterSet):
    operands = {
        "requesterId": Operand(text, "requester__requester_id", optional=True),
        "month": Operand(MONTH, operators=ORDER),
        "currency": Operand(UNIT),
        "status": Operand(STATUS, "closed_at", lookup="isnull"),
    }
