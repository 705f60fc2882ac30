"""What decisions can be filtered by."""

from analytics.models import AccessEvent
from kit.rest.filters import (
    ORDER,
    Operand,
    OperatorFilterSet,
    boolean,
    choice,
    identifier,
    text,
    timestamp,
)
from licensing.policies.decision import Reason


class DecisionFilters(OperatorFilterSet):
    operands = {
        "contentId": Operand(identifier("cnt"), "content_id"),
        "requesterId": Operand(text, "requester__requester_id"),
        "policyId": Operand(identifier("pol"), "policy_id", optional=True),
        "allowed": Operand(boolean),
        "reason": Operand(choice(Reason), optional=True),
        "created": Operand(timestamp, operators=ORDER),
    }

    class Meta:
        model = AccessEvent
        fields: list[str] = []
