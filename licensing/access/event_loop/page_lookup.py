"""Items and requesters from rows that the event loop reads from PostgreSQL, and the look-up of pages."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import orjson

from kit.bounded_cache import NotCached
from kit.storage.postgresql.async_postgres import Row, Sessions
from kit.values import ids
from kit.values.canonical_pages import RequestedPages, has_one_reading
from licensing.access.lookup.items import ITEM_COLUMNS
from licensing.access.lookup.pages import compiled_policies, page_named_by
from licensing.access.subjects import Item, RequesterSnapshot
from licensing.content.models import Content
from licensing.licenses.compiled import compiled_licenses
from licensing.policies.facts import STORED_FACTS
from licensing.requesters.models import Requester
from licensing.sites.lookup import cached_site, probable_hosts
from licensing.sites.models import Site
from licensing.sites.pages import candidate_pages, requested_page

PAGE_COLUMNS = (*ITEM_COLUMNS, "source", "created")
REQUESTER_COLUMNS = (
    "id",
    "requester_id",
    "name",
    "licenses_revision",
    "wallets",
    *(fact.stored for fact in STORED_FACTS),
)
UNKNOWN_REQUESTER = RequesterSnapshot(None, None)


def columns_of(table: str, fields: Sequence[str]) -> str:
    return ", ".join(f"{table}.{field}" for field in fields)


@lru_cache(maxsize=10_000)
def read_policy_id(uuid: bytes) -> str:
    return ids.encode("pol", UUID(uuid.decode()).bytes)


Readers = dict[str, Callable[[bytes], object]]  # of columns that are not texts
CONTENT_READERS: Readers = {
    "id": lambda uuid: ids.encode("cnt", UUID(uuid.decode()).bytes),
    "tags": orjson.loads,
    "policy_id": read_policy_id,
    "policy_version": int,
    "created": lambda text: datetime.fromisoformat(text.decode()),
}
REQUESTER_READERS: Readers = {
    **dict.fromkeys(REQUESTER_COLUMNS[4:], orjson.loads),
    "id": int,
    "licenses_revision": lambda text: UUID(text.decode()),
}


def read_values(fields: Sequence[str], row: Row, readers: Readers) -> list[object]:
    return [
        None if text is None else readers.get(field, bytes.decode)(text)
        for field, text in zip(fields, row, strict=True)
    ]


def read_content(fields: Sequence[str], row: Row) -> Content:
    """Read an item from these columns and its policy's version."""
    names = (*fields, "policy_version")
    return Content.from_db(None, names, read_values(names, row, CONTENT_READERS))


def cached_item(content: Content) -> Item:
    """Return the item with its compiled policy. Raises NotCached if it has to be read."""
    version = vars(content)["policy_version"]
    policy = None if content.policy_id is None else compiled_policies.cached.require((content.policy_id, version))
    return Item.from_row(content, policy)


def read_requester(name: str, row: Row) -> RequesterSnapshot:
    """Return the requester of REQUESTER_COLUMNS. Raises NotCached if its licences have to be read."""
    if row[0] is None:
        return UNKNOWN_REQUESTER
    requester = Requester.from_db(None, REQUESTER_COLUMNS, read_values(REQUESTER_COLUMNS, row, REQUESTER_READERS))
    revision = requester.licenses_revision
    licenses = None if revision is None else compiled_licenses.cached.require(revision)
    return RequesterSnapshot.from_row(name, requester, licenses)


# One statement sees one snapshot, so the epoch fits all rows it finds.
FIND_PAGES = f"""
SELECT wanted.place, account.epoch, {columns_of("content", PAGE_COLUMNS)}, policy.version
FROM unnest(%s::uuid[], %s::bytea[]) WITH ORDINALITY AS wanted (account, page_key, place)
JOIN accounts_account account ON account.id = wanted.account
LEFT JOIN licensing_content content
  ON content.account_id = wanted.account AND content.page_key = wanted.page_key AND content.deleted_at IS NULL
LEFT JOIN licensing_policy policy ON policy.id = content.policy_id
"""  # noqa: S608 - made of constants
MAX_LENGTH = 500  # of a URL

Page = tuple[str, str]  # (account id, URL)


class FoundPage(NamedTuple):
    epoch: int
    item: Item | None


def may_be_read(url: str) -> bool:
    """Whether reading the URL takes the event loop only some microseconds."""
    return len(url) <= MAX_LENGTH and has_one_reading(url)


async def find_pages(sessions: Sessions, wanted: Collection[Page]) -> dict[Page, FoundPage]:
    """Return pages like licensing.access.lookup.items.find_pages.

    Absent are those that need a thread, because their site or a policy is not cached, the site has many wildcards, or
    the account is gone.
    """
    pages = {}
    for account_id, url in wanted:
        requested = requested_page(url)
        pages[account_id, url] = requested.at_hosts(probable_hosts(account_id, requested.host))
    keys = [(page, key) for page, requested in pages.items() for key in requested.keys]
    accounts = [ids.id_to_hex("acc", account_id) for (account_id, _), _ in keys]
    rows: defaultdict[Page, list[Row]] = defaultdict(list)
    for place, *row in await sessions.run(FIND_PAGES, [accounts, [key for _, key in keys]]):
        rows[keys[int(place or 0) - 1][0]].append(row)
    found = {}
    for page, of_page in rows.items():
        epoch = int(of_page[0][0] or 0)
        site = cached_site(page[0], epoch, pages[page].host)
        if site is None or site.hosts != (pages[page].host, *pages[page].further_hosts):
            continue  # its aliases have changed
        if site.rule_table.is_quick:
            with suppress(NotCached):
                found[page] = FoundPage(epoch, build_page(pages[page], site, [row[1:] for row in of_page]))
    return found


def build_page(page: RequestedPages, site: Site, rows: Iterable[Row]) -> Item | None:
    """Build the page from the items with its keys. Raises NotCached for a policy."""
    contents = [read_content(PAGE_COLUMNS, row) for row in rows if row[0] is not None]
    candidates = candidate_pages(page, contents)
    items = {row.pk: cached_item(row) for _, row in candidates if row is not None}
    return page_named_by(page, candidates, items, site, None, compiled_policies.cached.require)
