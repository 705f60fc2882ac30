"""Filters of requesters."""

from kit.rest.filters import EQUALITY, ORDER, PREFIX, Operand, OperatorFilterSet, text, timestamp


class RequesterFilters(OperatorFilterSet):
    operands = {
        "id": Operand(text, "requester_id", PREFIX),
        "name": Operand(text, operators=PREFIX, optional=True),
        "email": Operand(text, operators=EQUALITY, optional=True),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER, optional=True),
    }
