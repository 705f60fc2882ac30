"""Redact a person's data in JSON: the id becomes the pseudonym, descriptions become null."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, cast
from urllib.parse import parse_qsl

import orjson
from django.db.models import Model

Redacted = TypeVar("Redacted", bound=Model)

# Fields that describe a person; their whole value is redacted.
PERSONAL = {
    *("requesterName", "email", "notes", "metadata", "attributes", "context", "description", "note", "voidReason"),
}
# Fields with words of the API or of the publisher's catalogue. They never name a person, even if a word is also an id.
IMPERSONAL = {
    *("action", "contentIds", "contentType", "currency", "defaultAction", "events", "every", "kind", "licenseType"),
    *("mode", "object", "permission", "permissions", "policyIds", "reason", "reasons", "status", "tags", "type"),
    "unit",
}
# Members of policies and of filters of webhook endpoints that name requesters.
NAMES_OF_REQUESTERS = {"requester", "requesterId", "requesterIds"}


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
    def spellings(self) -> set[str]:
        """The former id as JSON text, also with the escapes of SQLite's JSON columns, which are ASCII."""
        return {self.json_id, json.dumps(self.former)}

    def is_searched_by(self, query: str) -> bool:
        """Whether a value of the query string is the former id."""
        return self.former in (value.strip() for _, value in parse_qsl(query))

    def is_named_in(self, value: object, *, is_personal: bool = False) -> bool:
        """Whether JSON has the former id where it can name a person: in metadata, for example, under any name."""
        if isinstance(value, dict):
            return any(
                self.is_named_in(one, is_personal=is_personal or name in PERSONAL)
                for name, one in value.items()
                if is_personal or name not in IMPERSONAL
            )
        if isinstance(value, list):
            return any(self.is_named_in(one, is_personal=is_personal) for one in value)
        return value == self.former

    def renamed(self, value: object, *, names_requesters: bool = False) -> object:
        """Replace the former id by the pseudonym where requesters are named: an action may have the same text."""
        if isinstance(value, dict):
            of_requesters = {name for name in value if names_requesters or name in NAMES_OF_REQUESTERS}
            return {name: self.renamed(one, names_requesters=name in of_requesters) for name, one in value.items()}
        if isinstance(value, list):
            return [self.renamed(one, names_requesters=names_requesters) for one in value]
        return self.pseudonym if names_requesters and value == self.former else value

    def redacted(self, value: object) -> object:
        """Replace the former id by the pseudonym, and remove texts that describe the person."""
        if isinstance(value, dict):
            return self.redacted_object(value)
        if isinstance(value, list):
            return [self.redacted(one) for one in value]
        if value == self.former:
            return self.pseudonym
        return None if isinstance(value, str) and value in self.texts else value

    def redacted_object(self, value: dict[str, object]) -> dict[str, object]:
        """Redact an object. The person's own objects lose their `name` too, whichever it was at the time."""
        redacted = {name: self.member(name, one) for name, one in value.items()}
        if "name" in value and self.former in (value.get("id"), value.get("requesterId")):
            redacted["name"] = None
        if value.get("object") == "access_decision" and self.is_about_person(value):
            redacted.pop("token", None)  # it names the person and cannot be changed, because it is signed
            if "trace" in value:
                redacted["trace"] = without_seen_values(redacted["trace"])
        return redacted

    def is_about_person(self, decision: dict[str, object]) -> bool:
        requester = decision.get("requester")
        return isinstance(requester, dict) and requester.get("id") == self.former

    def member(self, name: str, value: object) -> object:
        if name in IMPERSONAL:
            return value
        if name in ("metadata", "attributes"):
            return {}
        return None if name in PERSONAL else self.redacted(value)

    def redacted_bytes(self, document: bytes) -> bytes:
        value = orjson.loads(document)
        return orjson.dumps(self.redacted(value)) if self.is_named_in(value) else document

    def changes(self, changes: dict[str, list[object]]) -> dict[str, object]:
        """Redact an audit entry's changes, which map fields to values before and after."""
        return {name: [None, None] if name in PERSONAL else self.member(name, pair) for name, pair in changes.items()}

    def title(self, title: str) -> str:
        return self.pseudonym if title == self.former or title in self.texts else title


def without_seen_values(trace: object) -> object:
    """Return a decision's trace without the values of the check on which rules failed."""
    for step in cast("list[dict[str, dict[str, object] | None]]", trace):
        failed = step["failed"]
        if failed is not None:
            failed["saw"] = None
    return trace
