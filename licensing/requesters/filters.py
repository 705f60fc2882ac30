"""Filters of requesters."""

from kit.rest.filters import EQUALITY, ORDER, PREFIX, Operand, OperatorFilterSet, text, timestamp
from licensing.requesters.models import Requester


class RequesterFilters(OperatorFilterSet):
    operands = {
        "id": Operand(text, "requester_id", PREFIX),
        "name": Operand(text, operators=PREFIX, optional=True),
        "email": Operand(text, operators=EQUALITY, optional=True),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER, optional=True),
    }

    class Meta:
        model = Requester
        fields: list[str] = []
