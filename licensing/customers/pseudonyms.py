"""Pseudonyms of erased customers: making them, and putting them where texts of operators and replies have an id."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl

import orjson

# Members that name requesters.
NAMES_OF_REQUESTERS = {"requester", "requesterId", "requesterIds"}


def new_pseudonym() -> str:
    return f"erased_{secrets.token_hex(12)}"


@dataclass(frozen=True)
class Pseudonyms:
    """The pseudonyms of erased customers, `by_id`: by their former ids."""

    by_id: Mapping[str, str]

    @cached_property
    def spellings(self) -> set[str]:
        """The ids as JSON text, also with the escapes of SQLite's JSON columns, which are ASCII."""
        plain = {orjson.dumps(former).decode() for former in self.by_id}
        return plain | {json.dumps(former) for former in self.by_id}

    def is_searched_by(self, query: str) -> bool:
        """Whether a value of the query string is one of the ids."""
        return any(value.strip() in self.by_id for _, value in parse_qsl(query))

    def replace_ids(self, value: object, *, names_requesters: bool = False) -> object:
        """Return the JSON with pseudonyms where requesters are named: an action may have the same text."""
        if isinstance(value, dict):
            naming = {name for name in value if names_requesters or name in NAMES_OF_REQUESTERS}
            return {name: self.replace_ids(member, names_requesters=name in naming) for name, member in value.items()}
        if isinstance(value, list):
            return [self.replace_ids(member, names_requesters=names_requesters) for member in value]
        if names_requesters and isinstance(value, str):
            return self.by_id.get(value, value)
        return value

    def has_id_in_reply(self, reply: bytes) -> bool:
        """Whether a reply of the API names one of the ids as a requester."""
        text = reply.decode()
        return any(spelling in text for spelling in self.spellings) and self.has_id_in(orjson.loads(reply))

    def has_id_in(self, value: object, *, names_requesters: bool = False) -> bool:
        if isinstance(value, dict):
            if value.get("object") == "requester" and value.get("id") in self.by_id:
                return True
            return any(
                self.has_id_in(member, names_requesters=names_requesters or name in NAMES_OF_REQUESTERS)
                for name, member in value.items()
            )
        if isinstance(value, list):
            return any(self.has_id_in(member, names_requesters=names_requesters) for member in value)
        return names_requesters and value in self.by_id
