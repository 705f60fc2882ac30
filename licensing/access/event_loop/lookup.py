"""Reads from PostgreSQL on the event loop: items, requesters, changes of accounts and requester numbers.

Each class reads for all waiting requests in one statement, with the same results as the function of that name in
blocking_calls. Checks wait for these reads on a cache miss and after each change of an account.
"""

from collections.abc import Mapping, Sequence

from accounts.plans.epochs import CHANGES_SINCE_SQL, Changes
from kit.bounded_cache import NotCached
from kit.storage.postgresql.async_postgres import Row, Sessions
from kit.telemetry.tracing import traced
from kit.values import ids
from licensing.access.event_loop.blocking_calls import Since
from licensing.access.event_loop.page_lookup import (
    REQUESTER_COLUMNS,
    FoundPage,
    Page,
    cached_item,
    columns_of,
    find_pages,
    may_be_read,
    read_content,
    read_requester,
)
from licensing.access.lookup.items import ITEM_COLUMNS
from licensing.access.subjects import Item, LookupRequest, LookupResult, RequesterSnapshot, Selector
from licensing.requesters.reserved_keys import POSTGRESQL_SQL as TAKE_NUMBERS

# One statement sees one snapshot, so the epoch fits all rows it finds. It is planned once, perhaps on little data,
# and must suit a million rows too. So it leaves the planner one index per table: LIMIT 1 keeps the other
# conditions, and with them other indexes, out of the lookup of an item by its id. BETWEEN, which for a single
# value means =, uses the index of requesters' ids within their account, but not the one for searches.
FIND_SQL = f"""
SELECT wanted.place, (SELECT epoch FROM accounts_account WHERE id = wanted.account),
  {columns_of("content", ITEM_COLUMNS)}, (SELECT version FROM licensing_policy WHERE id = content.policy_id),
  requester.merged_into_id, {columns_of("requester", REQUESTER_COLUMNS)}
FROM unnest(%s::uuid[], %s::uuid[], %s::text[]) WITH ORDINALITY AS wanted (account, content, requester, place)
LEFT JOIN LATERAL (
  SELECT account_id, deleted_at, {", ".join(ITEM_COLUMNS)}
  FROM licensing_content WHERE id = wanted.content LIMIT 1
) content ON content.account_id = wanted.account AND content.deleted_at IS NULL
LEFT JOIN LATERAL (
  SELECT merged_into_id, {", ".join(REQUESTER_COLUMNS)} FROM licensing_requester
  WHERE account_id = wanted.account AND requester_id BETWEEN wanted.requester AND wanted.requester LIMIT 1
) requester ON true
"""  # noqa: S608 - made of constants
ITEM_WIDTH = len(ITEM_COLUMNS) + 1  # of an item and its policy's version
# By default PostgreSQL would plan it again each time, because it misjudges arrays of unknown length.
PLANNED_ONCE = """
SELECT set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_seqscan', 'off', false)
"""
NULL = "NULL"

Name = tuple[str, Selector | str]  # (account id, an item's selector or a requester's id)
Key = tuple[str, str, str]  # the same, as elements of FIND_SQL's arrays


def needs_no_thread(request: LookupRequest) -> bool:
    """Return whether all items are named by id or by a plain URL, so find_facts may serve the lookup."""
    return all(name == "contentId" or (name == "page" and may_be_read(value)) for name, value in request.selectors)


class AsyncLookup:
    def __init__(self) -> None:
        self.sessions = Sessions(PLANNED_ONCE)

    @traced("SELECT facts", system="postgresql")
    async def find_facts(self, requests: Sequence[LookupRequest]) -> list[LookupResult | None]:
        """Look up the facts of each; None if a thread is needed, as a policy, licences or a site are not cached.

        Each lookup must satisfy `needs_no_thread`. Raises Django's OperationalError.
        """
        keys: dict[Name, Key] = {}  # deduplicated across requests
        urls: set[Page] = set()
        for request in requests:
            account = ids.id_to_hex("acc", request.account_id)
            for selector in request.selectors:
                if selector[0] == "page":
                    urls.add((request.account_id, selector[1]))
                else:  # a malformed id matches no item
                    keys[request.account_id, selector] = account, ids.id_to_hex("cnt", selector[1]) or NULL, NULL
            for requester_id in request.requesters:
                keys[request.account_id, requester_id] = account, NULL, quote_literal(requester_id)
        columns = [f"{{{','.join(column)}}}" for column in zip(*keys.values(), strict=True)]
        names = list(keys)
        numbered_rows = await self.sessions.run(FIND_SQL, columns) if keys else []
        rows = {names[int(place or 0) - 1]: row for place, *row in numbered_rows}
        pages = await find_pages(self.sessions, urls) if urls else {}
        results: list[LookupResult | None] = []
        for request in requests:
            try:
                results.append(build_result(request, rows, pages))
            except NotCached:
                results.append(None)
        return results


def quote_literal(text: str) -> str:
    """Quote a text as an element of a PostgreSQL array."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def build_result(request: LookupRequest, rows: Mapping[Name, Row], pages: Mapping[Page, FoundPage]) -> LookupResult:
    """Raises NotCached for what a thread has to read."""
    account_id = request.account_id
    items: dict[Selector, Item] = {}
    requesters: dict[str, RequesterSnapshot] = {}
    epochs: set[int] = set()
    for selector in request.selectors:
        if selector[0] == "page":
            page = pages.get((account_id, selector[1]))
            if page is None:
                raise NotCached
            epochs.add(page.epoch)
            if page.item is not None:
                items[selector] = page.item
        else:
            epoch, *columns = rows[account_id, selector]
            epochs.add(read_epoch(epoch))
            if columns[0] is not None:
                items[selector] = cached_item(read_content(ITEM_COLUMNS, columns[:ITEM_WIDTH]))
    for requester_id in request.requesters:
        epoch, *columns = rows[account_id, requester_id]
        epochs.add(read_epoch(epoch))
        merged_into, *known = columns[ITEM_WIDTH:]
        if merged_into is not None:
            raise NotCached
        requesters[requester_id] = read_requester(requester_id, known)
    return LookupResult(min(epochs), items, requesters)


def read_epoch(epoch: bytes | None) -> int:
    if epoch is None:  # the account does not exist
        raise NotCached
    return int(epoch)


class AsyncChanges:
    def __init__(self) -> None:
        self.sessions = Sessions()

    @traced("SELECT changes", system="postgresql")
    async def since(self, requests: Sequence[Since]) -> list[Changes | None]:
        """Like accounts.plans.epochs.changes_since, for many requests. Duplicates are read once."""
        changes: dict[Since, Changes | None] = {}
        for account_id, epoch in set(requests):
            rows = await self.sessions.run(CHANGES_SINCE_SQL, [str(epoch), ids.id_to_hex("acc", account_id)])
            changes[account_id, epoch] = Changes.of(epoch, rows)
        return [changes[since] for since in requests]


class AsyncNumbers:
    def __init__(self) -> None:
        self.sessions = Sessions()

    @traced("SELECT numbers", system="postgresql")
    async def reserve(self, counts: Sequence[int]) -> list[int]:
        """Like licensing.requesters.reserved_keys.reserve_numbers, for many requests."""
        rows = await self.sessions.run(TAKE_NUMBERS, [str(sum(counts))])
        return [int(number or 0) for [number] in rows]
