"""Redact a person's data in JSON: the id becomes the pseudonym, descriptions become null."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar
from urllib.parse import quote

import orjson
from django.db.models import Model

Redacted = TypeVar("Redacted", bound=Model)

# Fields that describe a person; their whole value is redacted.
PERSONAL = {"requesterName", "email", "notes", "metadata", "attributes", "context", "description", "note"}


@dataclass(frozen=True)
class Person:
    """The person to redact: former id, pseudonym, and texts that described the person."""

    former: str
    pseudonym: str
    texts: frozenset[str]

    @cached_property
    def json_id(self) -> str:
        """The former id as JSON text."""
        return orjson.dumps(self.former).decode()

    @cached_property
    def quoted(self) -> str:
        """The former id, quoted for query strings."""
        return quote(self.former, safe="")

    def renamed(self, value: object) -> object:
        """Replace each string that equals the former id by the pseudonym."""
        if isinstance(value, dict):
            return {name: self.renamed(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.renamed(one) for one in value]
        return self.pseudonym if value == self.former else value

    def redacted(self, value: object) -> object:
        """Replace the former id by the pseudonym, and remove texts that describe the person."""
        if isinstance(value, dict):
            return {name: self.member(name, one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.redacted(one) for one in value]
        if value == self.former:
            return self.pseudonym
        return None if isinstance(value, str) and value in self.texts else value

    def member(self, name: str, value: object) -> object:
        if name in ("metadata", "attributes"):
            return {}
        return None if name in PERSONAL else self.redacted(value)

    def redacted_bytes(self, document: bytes) -> bytes:
        return orjson.dumps(self.redacted(orjson.loads(document)))

    def changes(self, changes: dict[str, list[object]]) -> dict[str, object]:
        """Redact an audit entry's changes, which map fields to values before and after."""
        return {name: [None, None] if name in PERSONAL else self.redacted(pair) for name, pair in changes.items()}

    def title(self, title: str) -> str:
        return self.pseudonym if title == self.former or title in self.texts else title
