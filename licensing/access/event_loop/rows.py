"""Items and requesters from rows of PostgreSQL as text, as the ORM reads them."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from uuid import UUID

import orjson

from kit.storage.postgresql.async_postgres import Row
from kit.values import ids
from licensing.access.lookup.items import ITEM, item_of
from licensing.access.lookup.policies import compiled_policies
from licensing.access.subjects import Item, RequesterSnapshot
from licensing.content.models import Content
from licensing.licenses.compiled import compiled_licenses
from licensing.policies.facts import STORED
from licensing.requesters.models import Requester

PAGE = (*ITEM, "source", "created")
KNOWN = ("id", "requester_id", "name", "licenses_revision", "wallets", *(fact.stored for fact in STORED))
UNKNOWN = RequesterSnapshot(None, None)


def columns_of(table: str, fields: Sequence[str]) -> str:
    return ", ".join(f"{table}.{field}" for field in fields)


@lru_cache(maxsize=10_000)
def read_policy_id(uuid: bytes) -> str:
    return ids.encode("pol", UUID(uuid.decode()).bytes)


def read_content_id(uuid: bytes) -> str:
    return ids.encode("cnt", UUID(uuid.decode()).bytes)


def read_time(text: bytes) -> datetime:
    return datetime.fromisoformat(text.decode())


def read_uuid(text: bytes) -> UUID:
    return UUID(text.decode())


Readers = dict[str, Callable[[bytes], object]]  # of columns that are not texts
OF_CONTENT: Readers = {
    "id": read_content_id,
    "tags": orjson.loads,
    "policy_id": read_policy_id,
    "policy_version": int,
    "created": read_time,
}
OF_REQUESTER: Readers = {**dict.fromkeys(KNOWN[4:], orjson.loads), "id": int, "licenses_revision": read_uuid}


def read_values(fields: Sequence[str], row: Row, readers: Readers) -> list[object]:
    return [
        None if text is None else readers.get(field, bytes.decode)(text)
        for field, text in zip(fields, row, strict=True)
    ]


def read_content(fields: Sequence[str], row: Row) -> Content:
    """Read an item from these columns and its policy's version."""
    names = (*fields, "policy_version")
    return Content.from_db(None, names, read_values(names, row, OF_CONTENT))


def cached_item(content: Content) -> Item:
    """Return the item with its compiled policy. Raises NotCached if it has to be read."""
    version = vars(content)["policy_version"]
    policy = None if content.policy_id is None else compiled_policies.cached.require((content.policy_id, version))
    return item_of(content, policy)


def read_requester(name: str, row: Row) -> RequesterSnapshot:
    """Return the requester of KNOWN's columns. Raises NotCached if its licences have to be read."""
    if row[0] is None:
        return UNKNOWN
    requester = Requester.from_db(None, KNOWN, read_values(KNOWN, row, OF_REQUESTER))
    revision = requester.licenses_revision
    licenses = None if revision is None else compiled_licenses.cached.require(revision)
    return RequesterSnapshot.from_row(name, requester, licenses)
