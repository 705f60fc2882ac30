"""What content can be filtered by."""

from kit.rest.filters import (
    ORDER,
    PREFIX,
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
        "externalId": Operand(text, "external_id", PREFIX, optional=True),
        "policyId": Operand(identifier("pol"), "policy_id", optional=True),
        "title": Operand(text, operators=PREFIX),
        "source": Operand(text, optional=True),
        "tags": Operand(text, lookup="has", optional=True, absent=[]),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
        "metadata.author": Operand(text, "author", optional=True),
        "metadata.category": Operand(text, "category", optional=True),
        "metadata.publishedAt": Operand(day, "published_at", ORDER, optional=True),
        "metadata.wordCount": Operand(integer, "word_count", ORDER, optional=True),
    }

    class Meta:
        model = Content
        fields: list[str] = []
