"""Look up items with their compiled policies. It takes a fixed number of queries."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from itertools import chain
from operator import or_
from typing import Any

from django.db.models import F, Q, QuerySet

from kit.values import ids
from kit.values.canonical_pages import HALF, RequestedPages
from licensing.access.lookup.pages import (
    compiled_policies,
    names_of,
    observed_page,
    page_by_rule,
    page_named_by,
    refused_page,
    registered_page,
)
from licensing.access.subjects import Item, Selector
from licensing.content.models import Content, Status
from licensing.content.url_key import source_key
from licensing.sites.lookup import find_sites
from licensing.sites.models import Site
from licensing.sites.other_hosts import are_refused, other_hosts_item_id
from licensing.sites.pages import Candidate, candidate_pages, requested_page

MAX_PAGES = 30  # registered URLs that one requested URL may name; `?id=1&id=2&id=3` names three


def items_of(rows: Iterable[Content]) -> list[Item]:
    """Build items from rows loaded with `policy_version`."""
    contents: list[Any] = list(rows)
    policies = compiled_policies.get((row.policy_id, row.policy_version) for row in contents if row.policy_id)
    return [Item.from_row(row, policies.get((row.policy_id, row.policy_version))) for row in contents]


ITEM_COLUMNS = ("id", "type", "tags", "category", "status", "policy_id")  # columns that Item.from_row reads
COLUMNS = (*ITEM_COLUMNS, "source_key", "external_id")
# Made once: Django takes as long to make such a query as to compile it.
ITEMS: QuerySet[Content] = Content.objects.kept().annotate(policy_version=F("policy__version")).only(*COLUMNS)
PAGES = ITEMS.only(*COLUMNS, "source", "page_key", "created")


def newest_at(owned: QuerySet[Content], keys: Iterable[bytes | None]) -> dict[bytes, Content]:
    """Return items by the source keys of their URLs; the newest active one if several share a URL."""
    at: dict[bytes, Content] = {}
    for row in owned.filter(source_key__in=set(keys)).order_by("created", "id"):
        key = bytes(row.source_key or b"")
        if key not in at or row.status == Status.ACTIVE or at[key].status != Status.ACTIVE:
            at[key] = row
    return at


def find_items(account_id: str, selectors: Iterable[Selector], epoch: int | None = None) -> dict[Selector, Item]:
    """Return items by selector. If several share a URL, the newest active one counts. Unknown ones are absent."""
    values: dict[str, set[str]] = {name: set() for name in ("contentId", "externalId", "source", "page", "elsewhere")}
    for name, value in selectors:
        values[name].add(value)
    owned = ITEMS.filter(account_id=account_id)
    real_ids = [value for value in values["contentId"] if ids.decode("cnt", value) is not None]
    rows: dict[Selector, Content] = {}
    if real_ids:
        rows |= {("contentId", row.pk): row for row in owned.filter(pk__in=real_ids)}
    if values["externalId"]:
        named_rows = owned.filter(external_id__in=values["externalId"])
        rows |= {("externalId", row.external_id or ""): row for row in named_rows}
    keys = {url: source_key(url) for url in values["source"]}
    if keys:
        at = newest_at(owned, keys.values())
        rows |= {("source", url): at[key] for url, key in keys.items() if key in at}
    items = dict(zip(rows, items_of(rows.values()), strict=True))
    for url in values["source"]:
        if (item := items.get(("source", url))) is not None:
            items["source", url] = replace(item, urls=names_of([keys[url]]))
    if values["page"]:
        items |= {("page", url): item for url, item in find_pages(account_id, values["page"], epoch).items()}
    if values["elsewhere"] and (other_hosts_id := other_hosts_item_id(account_id)) is not None:
        for url in values["elsewhere"]:
            items["elsewhere", url] = refused_page(other_hosts_id, requested_page(url).address, is_elsewhere=True)
    return items


def find_pages(account_id: str, urls: Iterable[str], epoch: int | None = None) -> dict[str, Item]:
    """Return the pages for URLs that the edge asks about: registered items, or pages by the rules of their site.

    If origins may read a URL in several ways, the item has `others`. A URL is absent if its host has no site, no item
    is registered for it, and the item of other hosts does not exist yet.
    """
    requested = {url: requested_page(url) for url in urls}
    sites_by_host = find_sites(account_id, {page.host for page in requested.values()}, epoch)
    sites = {url: sites_by_host.get(page.host) for url, page in requested.items()}
    # A page is at the site's host, because its aliases have the same pages.
    pages = {
        url: page if (site := sites[url]) is None else page.at_hosts(site.hosts) for url, page in requested.items()
    }
    owned = PAGES.filter(account_id=account_id)
    candidates = find_candidates(owned, pages)
    rows = {item.pk: item for matches in candidates.values() for _, item in matches if item is not None}
    items = dict(zip(rows, items_of(rows.values()), strict=True))
    unknown = {
        url
        for url in pages
        if sites[url] is None and any(item is None for _, item in candidates.get(url, [Candidate((), None)]))
    }
    other_hosts_id = other_hosts_item_id(account_id) if unknown else None
    is_refused = bool(unknown) and are_refused(account_id)
    refused_id = other_hosts_id if is_refused else None
    results: dict[str, Item] = {}
    for url, page in pages.items():
        site = sites[url]
        if is_refused and other_hosts_id is None and url in unknown:
            continue  # absent until the item of other hosts exists
        if url in candidates and (site is None or site.rule_table.can_match(sum(map(len, page.readings)))):
            result = page_named_by(page, candidates[url], items, site, refused_id)
        else:
            result = page_of_no_policy(owned, page, site, refused_id)
        if result is None and other_hosts_id is not None:
            result = observed_page(other_hosts_id, page.address, names_of(page.pages))
        if result is not None:
            results[url] = result
    return results


def find_candidates(owned: QuerySet[Content], pages: Mapping[str, RequestedPages]) -> dict[str, list[Candidate]]:
    """Return what each URL may name, with the rows of registered items. URLs with too many readings are absent."""
    complete = {url: page.keys for url, page in pages.items() if page.is_complete}
    keys = {url: url_keys for url, url_keys in complete.items() if not name_too_many(owned, url_keys)}
    rows_by_key: defaultdict[bytes, list[Content]] = defaultdict(list)
    for row in owned.filter(page_key__in=set(chain.from_iterable(keys.values()))):
        rows_by_key[bytes(row.page_key or b"")].append(row)
    return {
        url: candidate_pages(pages[url], [row for key in url_keys for row in rows_by_key.get(key, ())])
        for url, url_keys in keys.items()
    }


def name_too_many(owned: QuerySet[Content], keys: list[bytes]) -> bool:
    """Whether items are registered under more than MAX_PAGES of a URL's keys."""
    if len(keys) <= MAX_PAGES:
        return False
    used_keys = owned.filter(page_key__in=set(keys)).order_by().values_list("page_key").distinct()
    return len(used_keys[: MAX_PAGES + 1]) > MAX_PAGES


def page_of_no_policy(
    owned: QuerySet[Content], page: RequestedPages, site: Site | None, refused_id: str | None
) -> Item | None:
    """Return a page without a policy, which is denied: its URL has too many readings to follow, or to match."""
    ranges = (Q(page_key__gte=half + bytes(HALF), page_key__lte=half + b"\xff" * HALF) for half in page.pages)
    row, names = owned.filter(reduce(or_, ranges)).first(), names_of(page.pages)
    if row is not None:
        return replace(registered_page(items_of([row])[0], site, page.address, names), policy=None, policy_key=None)
    if site is not None:
        return replace(page_by_rule(site, None, page.address, names), is_open=False)
    return None if refused_id is None else refused_page(refused_id, page.address, names)
