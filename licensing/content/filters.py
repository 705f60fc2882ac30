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
from licensing.content.models import Content, ContentType, Status


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
        "metadata.author": Operand(text, "author"),
        "metadata.category": Operand(text, "category"),
        "metadata.publishedAt": Operand(day, "published_at", ORDER),
        "metadata.wordCount": Operand(integer, "word_count", ORDER),
    }

    class Meta:
        model = Content
        fields: list[str] = []
