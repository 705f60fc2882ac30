"""Filters of payments."""

from analytics.ledger.filters import parse_code
from analytics.payments.models import Payment, PaymentKind
from kit.rest.filters import ORDER, Kind, Operand, OperatorFilterSet, choice, text, timestamp


class PaymentFilters(OperatorFilterSet):
    operands = {
        "requesterId": Operand(text, "requester__requester_id"),
        "kind": Operand(choice(PaymentKind)),
        "currency": Operand(Kind(parse_code, {"type": "string", "pattern": "^[A-Z]{3}$"})),
        "externalId": Operand(text, "external_id", optional=True),
        "receivedAt": Operand(timestamp, "received_at", ORDER),
        "created": Operand(timestamp, operators=ORDER),
    }

    class Meta:
        model = Payment
        fields: list[str] = []
