"""What policies can be filtered by."""

from kit.rest.filters import (
    ORDER,
    Operand,
    OperatorFilterSet,
    choice,
    identifier,
    integer,
    text,
    timestamp,
)
from licensing.policies.models import Policy
from licensing.policies.rules import Action


class PolicyFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("pol")),
        "name": Operand(text),
        "defaultAction": Operand(choice(Action), "default_action"),
        "version": Operand(integer, operators=ORDER),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
    }

    class Meta:
        model = Policy
        fields: list[str] = []
