"""Filters of the event list."""

from accounts.events.types import TYPES
from kit.rest.filters import ORDER, Operand, OperatorFilterSet, choice, text, timestamp


class EventFilters(OperatorFilterSet):
    operands = {
        "type": Operand(choice(one.name for one in TYPES)),
        "objectId": Operand(text, "object_id"),
        "created": Operand(timestamp, operators=ORDER),
    }
