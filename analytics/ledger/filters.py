"""Filters of the ledger."""

import re

from analytics.ledger.refunds import of_decisions
from analytics.models import EntryType
from kit.rest.filters import ORDER, Index, Kind, Operand, OperatorFilterSet, choice, identifier, text, timestamp

IS_CODE = re.compile(r"[A-Z]{3}").fullmatch


def parse_code(value: str) -> str:
    """Return a three-letter currency code; withdrawn currencies remain valid for old entries. Raises ValueError."""
    if not IS_CODE(value):
        raise ValueError("Must be a currency's three capital letters, such as EUR.")
    return value


CURRENCY = Kind(parse_code, {"type": "string", "pattern": "^[A-Z]{3}$"})


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
        "externalId": Operand(text, "external_id", optional=True),
        "occurredAt": Operand(timestamp, "occurred_at", ORDER),
        "created": Operand(timestamp, operators=ORDER),
    }
