"""Filters of the ledger, and the units of all filters."""

import re

from analytics.ledger.refunds import of_decisions
from analytics.models import EntryType
from analytics.wallets.units import ACCESS
from kit.rest.filters import (
    ORDER,
    PREFIX,
    Index,
    Operand,
    OperatorFilterSet,
    ParameterKind,
    choice,
    identifier,
    text,
    timestamp,
)

IS_CODE = re.compile(r"[A-Z]{3}").fullmatch


def parse_code(value: str) -> str:
    """Return a three-letter currency code; withdrawn currencies remain valid for old entries. Raises ValueError."""
    if not IS_CODE(value):
        raise ValueError("Must be a currency's three capital letters, such as EUR.")
    return value


CURRENCY = ParameterKind(parse_code, {"type": "string", "pattern": "^[A-Z]{3}$"})


def parse_unit(value: str) -> str:
    """Return a unit; withdrawn currencies remain valid for old wallets. Raises ValueError."""
    if value != ACCESS and not IS_CODE(value):
        raise ValueError(f"Must be {ACCESS}, or a currency's three capital letters, such as EUR.")
    return value


UNIT = ParameterKind(parse_unit, {"type": "string", "pattern": f"^({ACCESS}|[A-Z]{{3}})$"})


class LedgerFilters(OperatorFilterSet):
    operands = {
        "type": Operand(choice(EntryType)),
        "currency": Operand(CURRENCY),
        "requesterId": Operand(text, "requester__requester_id", optional=True),
        "contentId": Operand(identifier("cnt"), "content_id", optional=True),
        "licenseId": Operand(identifier("lic"), "license_id", optional=True),
        "feeId": Operand(identifier("led"), "fee_id", optional=True, index=Index.FINDS),
        "decisionId": Operand(identifier("dec"), "decision_id", optional=True, any_of=of_decisions, index=Index.FINDS),
        "licenseType": Operand(text, "license_type", optional=True),
        "externalId": Operand(text, "external_id", PREFIX, optional=True),
        "occurredAt": Operand(timestamp, "occurred_at", ORDER),
        "created": Operand(timestamp, operators=ORDER),
    }
