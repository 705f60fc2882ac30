"""Filters of the audit log."""

from accounts.auditing.models import ActorType
from kit.rest.filters import ORDER, Index, Operand, OperatorFilterSet, choice, text, timestamp


class AuditFilters(OperatorFilterSet):
    operands = {
        "action": Operand(text),
        "actorId": Operand(text, "actor_id", optional=True),
        "actorType": Operand(choice(ActorType), "actor_type"),
        "resourceId": Operand(text, "resource_id", index=Index.SORTS),
        "resourceType": Operand(text, "resource_type", index=Index.SORTS),
        "created": Operand(timestamp, operators=ORDER),
    }
