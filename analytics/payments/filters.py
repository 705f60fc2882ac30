"""Filters of payments."""

from analytics.ledger.filters import CURRENCY
from analytics.payments.models import PaymentKind
from kit.rest.filters import ORDER, Operand, OperatorFilterSet, choice, text, timestamp


class PaymentFilters(OperatorFilterSet):
    operands = {
        "requesterId": Operand(text, "requester__requester_id"),
        "kind": Operand(choice(PaymentKind)),
        "currency": Operand(CURRENCY),
        "externalId": Operand(text, "external_id", optional=True),
        "receivedAt": Operand(timestamp, "received_at", ORDER),
        "created": Operand(timestamp, operators=ORDER),
    }
