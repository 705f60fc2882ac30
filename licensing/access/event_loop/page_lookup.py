"""Reads pages from PostgreSQL on the event loop. Most pages that crawlers ask for are asked for only once."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import NamedTuple

from kit.bounded_cache import NotCached
from kit.storage.postgresql.async_postgres import Row, Sessions
from kit.values import ids
from kit.values.pages import RequestedPages, has_one_reading
from licensing.access.event_loop.rows import PAGE, cached_item, columns_of, read_content
from licensing.access.lookup.pages import page_named_by
from licensing.access.lookup.policies import compiled_policies
from licensing.access.subjects import Item
from licensing.sites.lookup import expected_hosts, known_site
from licensing.sites.models import Site
from licensing.sites.pages import candidates_of, requested_page

# One statement sees one snapshot, so the epoch fits all rows it finds.
FIND_PAGES = f"""
SELECT wanted.place, account.epoch, {columns_of("content", PAGE)}, policy.version
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
    pages = {page: expected_page(*page) for page in wanted}
    keys = [(page, key) for page, requested in pages.items() for key in requested.keys]
    accounts = [ids.hex_of("acc", account_id) for (account_id, _), _ in keys]
    rows: defaultdict[Page, list[Row]] = defaultdict(list)
    for place, *row in await sessions.run(FIND_PAGES, [accounts, [key for _, key in keys]]):
        rows[keys[int(place or 0) - 1][0]].append(row)
    found = {}
    for page, of_page in rows.items():
        epoch = int(of_page[0][0] or 0)
        site = known_site(page[0], epoch, pages[page].host)
        if site is None or site.hosts != (pages[page].host, *pages[page].further_hosts):
            continue  # its aliases have changed
        if site.rule_table.is_quick:
            with suppress(NotCached):
                found[page] = FoundPage(epoch, build_page(pages[page], site, [row[1:] for row in of_page]))
    return found


def expected_page(account_id: str, url: str) -> RequestedPages:
    page = requested_page(url)
    return page.at_hosts(expected_hosts(account_id, page.host))


def build_page(page: RequestedPages, site: Site, rows: Iterable[Row]) -> Item | None:
    """Build the page from the items with its keys. Raises NotCached for a policy."""
    contents = [read_content(PAGE, row) for row in rows if row[0] is not None]
    candidates = candidates_of(page, contents)
    items = {row.pk: cached_item(row) for _, row in candidates if row is not None}
    return page_named_by(page, candidates, items, site, None, compiled_policies.cached.require)
