"""Ids of erased customers, in texts that operators wrote and in replies."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl

import orjson

# Members that name requesters.
NAMES_OF_REQUESTERS = {"requester", "requesterId", "requesterIds"}


@dataclass(frozen=True)
class ErasedIds:
    """Ids of erased customers, each with its pseudonym."""

    pseudonyms: Mapping[str, str]

    @cached_property
    def spellings(self) -> set[str]:
        """The ids as JSON text, also with the escapes of SQLite's JSON columns, which are ASCII."""
        plain = {orjson.dumps(former).decode() for former in self.pseudonyms}
        return plain | {json.dumps(former) for former in self.pseudonyms}

    def is_searched_by(self, query: str) -> bool:
        """Whether a value of the query string is one of the ids."""
        return any(value.strip() in self.pseudonyms for _, value in parse_qsl(query))

    def renamed(self, value: object, *, names_requesters: bool = False) -> object:
        """Replace the ids by pseudonyms where requesters are named: an action may have the same text."""
        if isinstance(value, dict):
            naming = {name for name in value if names_requesters or name in NAMES_OF_REQUESTERS}
            return {name: self.renamed(member, names_requesters=name in naming) for name, member in value.items()}
        if isinstance(value, list):
            return [self.renamed(member, names_requesters=names_requesters) for member in value]
        if names_requesters and isinstance(value, str):
            return self.pseudonyms.get(value, value)
        return value

    def are_named_in(self, reply: bytes) -> bool:
        """Whether a reply of the API names one of them as a requester."""
        text = reply.decode()
        return any(spelling in text for spelling in self.spellings) and self.are_shown_in(orjson.loads(reply))

    def are_shown_in(self, value: object, *, names_requesters: bool = False) -> bool:
        if isinstance(value, dict):
            if value.get("object") == "requester" and value.get("id") in self.pseudonyms:
                return True
            return any(
                self.are_shown_in(member, names_requesters=names_requesters or name in NAMES_OF_REQUESTERS)
                for name, member in value.items()
            )
        if isinstance(value, list):
            return any(self.are_shown_in(member, names_requesters=names_requesters) for member in value)
        return names_requesters and value in self.pseudonyms
