"""What content can be filtered by."""

from kit.rest.filters import (
    ORDER,
    Operand,
    OperatorFilterSet,
    choice,
    day,
    identifier,
    integer,
    text,
    timestamp,
)
from licensing.content.metadata import ATTRIBUTES, Attribute, Kind
from licensing.content.models import Content, Status
from licensing.policies.facts import ContentType


def operand_of(attribute: Attribute) -> Operand:
    if attribute.kind == Kind.TEXT:
        return Operand(text, attribute.column)
    return Operand(day if attribute.kind == Kind.DAY else integer, attribute.column, ORDER)


class ContentFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("cnt")),
        "type": Operand(choice(ContentType)),
        "status": Operand(choice(Status)),
        "externalId": Operand(text, "external_id"),
        "policyId": Operand(identifier("pol"), "policy_id"),
        "title": Operand(text),
        "source": Operand(text),
        "tags": Operand(text, lookup="has"),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
        **{f"metadata.{one.name}": operand_of(one) for one in ATTRIBUTES if one.kind != Kind.TEXTS},
    }

    class Meta:
        model = Content
        fields: list[str] = []
