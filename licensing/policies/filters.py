"""Filters of policies."""

from kit.rest.filters import (
    ORDER,
    PREFIX,
    Operand,
    OperatorFilterSet,
    choice,
    identifier,
    integer,
    text,
    timestamp,
)
from licensing.policies.modes import MODES
from licensing.policies.rules import Action


class PolicyFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("pol")),
        "externalId": Operand(text, "external_id", PREFIX, optional=True),
        "name": Operand(text),
        "defaultAction": Operand(choice(Action), "default_action"),
        "mode": Operand(choice(MODES)),
        "version": Operand(integer, operators=ORDER),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER, optional=True),
    }
