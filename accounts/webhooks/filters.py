"""Filters of the delivery list."""

from kit.rest.filters import ORDER, Operand, OperatorFilterSet, boolean, identifier, timestamp


class AttemptFilters(OperatorFilterSet):
    operands = {
        "eventId": Operand(identifier("evt"), "event_id"),
        "succeeded": Operand(boolean),
        "created": Operand(timestamp, operators=ORDER),
    }
