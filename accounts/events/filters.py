"""Filters of the event list."""

from accounts.events.types import TYPES
from kit.rest.filters import ORDER, Index, Operand, OperatorFilterSet, choice, text, timestamp


class EventFilters(OperatorFilterSet):
    operands = {
        "type": Operand(choice(one.name for one in TYPES), index=Index.SORTS),
        "objectId": Operand(text, "object_id", index=Index.SORTS),
        "created": Operand(timestamp, operators=ORDER),
    }
