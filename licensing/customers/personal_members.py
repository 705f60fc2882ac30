"""Expressions that erase personal members of stored JSON, in entries of the audit log and in events."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl

import orjson
from django.db.models import TextField
from django.db.models.expressions import RawSQL

from accounts.auditing.models import AuditEntry
from kit.storage.by_database import by_database

# The members that describe a person, by kind of resource or object, each with what an erasure leaves of it.
PERSONAL: dict[str, dict[str, object]] = {
    "requester": {"name": None, "email": None, "notes": None, "metadata": {}},
    "license": {"requesterName": None, "metadata": {}},
    "license_client": {"name": None},
    "wallet": {"requesterName": None},
    "payment": {"requesterName": None, "note": None, "voidReason": None},
    "ledger_entry": {"requesterName": None, "description": None},
    "portal_session": {"returnUrl": None},
    "access_summary": {"requester.name": None},
    "limit": {"requester.name": None},
}
NO_VALUES = [None, None]  # before and after a change
# Where requesters' ids are in the changes of an entry, and in the object of an event.
IDS_IN_CHANGES = (("requesterId", 0), ("requesterId", 1), ("into", 1))
IDS_IN_OBJECTS = {"requester": ("id",), "access_summary": ("requester", "id"), "limit": ("requester", "id")}

Path = Sequence[str | int]
Pseudonyms = Mapping[str, str]  # by the ids that they replace
# Members that name requesters.
NAMES_OF_REQUESTERS = {"requester", "requesterId", "requesterIds"}


def path_of_id(kind: str) -> tuple[str, ...]:
    """Return the path of the requester's id in objects of this kind."""
    return IDS_IN_OBJECTS.get(kind, ("requesterId",))


def erased_changes(kind: str, pseudonyms: Pseudonyms) -> RawSQL:
    """Return the changes of an audit entry about this kind of resource without personal values."""
    values: dict[Path, object] = {(name,): NO_VALUES for name in PERSONAL[kind]}
    sql, parameters = replaced("changes", values, IDS_IN_CHANGES, pseudonyms)
    return RawSQL(sql, parameters, AuditEntry._meta.get_field("changes"))  # noqa: S611 - the API's names only


def erased_object(column: str, kind: str, pseudonyms: Pseudonyms) -> RawSQL:
    """Return the object of this kind in an event's column without personal values."""
    values: dict[Path, object] = {tuple(name.split(".")): value for name, value in PERSONAL[kind].items()}
    sql, parameters = replaced(column, values, [path_of_id(kind)], pseudonyms)
    return RawSQL(f"CAST({sql} AS text)", parameters, TextField())  # noqa: S611 - the API's names only


def replaced(
    column: str, values: Mapping[Path, object], ids: Sequence[Path], pseudonyms: Pseudonyms
) -> tuple[str, list[str]]:
    """Return SQL for the column's JSON with other values of those members that it has, and its parameters.

    The ids at these paths become pseudonyms.
    """
    build = by_database(postgresql=on_postgresql, sqlite=on_sqlite)
    return build(column, values, ids), [json.dumps(pseudonyms)] * len(ids)


def on_postgresql(column: str, values: Mapping[Path, object], ids: Sequence[Path]) -> str:
    before = sql = f"{column}::jsonb"
    for path, value in values.items():
        sql = f"jsonb_set({sql}, '{postgresql_path(path)}', '{json.dumps(value)}', false)"
    for path in ids:
        text = postgresql_path(path)
        id = f"COALESCE(%s::jsonb -> ({before} #>> '{text}'), {before} #> '{text}', 'null')"
        sql = f"jsonb_set({sql}, '{text}', {id}, false)"
    return sql


def postgresql_path(path: Path) -> str:
    return "{" + ",".join(map(str, path)) + "}"


def on_sqlite(column: str, values: Mapping[Path, object], ids: Sequence[Path]) -> str:
    members = [f"'{sqlite_path(path)}', json('{json.dumps(value)}')" for path, value in values.items()]
    for path in ids:
        text = sqlite_path(path)
        id = f"json_extract({column}, '{text}')"
        pseudonym = f"(SELECT value FROM json_each(%s) WHERE key = {id})"  # noqa: S608 - the API's names only
        members.append(f"'{text}', COALESCE({pseudonym}, {id})")
    return f"json_replace({column}, {', '.join(members)})"


def sqlite_path(path: Path) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


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
