"""Filters for content lists."""

from dataclasses import replace

from django.db.models import Q
from django.db.models.lookups import In

from kit.rest.fields import is_http_url
from kit.rest.filters import (
    ORDER,
    PREFIX,
    Index,
    Operand,
    OperatorFilterSet,
    choice,
    day,
    identifier,
    integer,
    text,
    timestamp,
)
from kit.storage.code_points import by_code_point
from licensing.content.metadata import ATTRIBUTES, Attribute, Kind
from licensing.content.models import Status
from licensing.content.url_key import source_key
from licensing.policies.facts import ContentType


def build_operand(attribute: Attribute) -> Operand:
    if attribute.kind == Kind.TEXT:
        return Operand(text, attribute.column, optional=True)
    return Operand(day if attribute.kind == Kind.DAY else integer, attribute.column, ORDER, optional=True)


def key_of_url(value: str) -> bytes | None:
    """Return the source key of a URL, or a key that matches no item if the text is not an http(s) URL."""
    return source_key(value) if is_http_url(value) else b""


def has_title(titles: list[str]) -> Q:
    """Return the condition that the title is one of these, compared as in the index of titles."""
    return Q(In(by_code_point("title"), titles))


class ContentFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("cnt"), index=Index.FINDS),
        "type": Operand(choice(ContentType)),
        "status": Operand(choice(Status)),
        "externalId": Operand(text, "external_id", PREFIX, optional=True, index=Index.FINDS),
        "policyId": Operand(identifier("pol"), "policy_id", optional=True),
        "title": Operand(text, operators=PREFIX, any_of=has_title),
        "source": Operand(replace(text, parse=key_of_url), "source_key", optional=True, index=Index.FINDS),
        "tags": Operand(text, lookup="has", optional=True, absent=[]),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
        **{f"metadata.{one.name}": build_operand(one) for one in ATTRIBUTES if one.kind != Kind.TEXTS},
    }
