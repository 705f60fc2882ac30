"""Finds the registered items, or the site's patterns, that decide a requested page.

Origins read some URLs in different ways (kit.values.paths), and each reading may name another page. All are
candidates; the strictest decision wins (licensing.access.decisions).
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from django.conf import settings

from kit.values.canonical_pages import Parameters, RegisteredPage, RequestedPages, page_spelling
from licensing.content.models import Content, Status

K = TypeVar("K")


class Candidate(NamedTuple):
    """A page that the URL may name: a registered item, or None if the site's patterns decide.

    `paths` are the spellings of its path under SAME_PAGE. A pattern that matches one of them matches the page: without
    its final slash, `/premium/` would be no page of `/premium/*`.
    """

    paths: tuple[str, ...]
    item: Content | None


def requested_page(url: str) -> RequestedPages:
    return RequestedPages.from_url(url, settings.SAME_PAGE)


def candidate_pages(page: RequestedPages, items: Iterable[Content]) -> list[Candidate]:
    """Return the pages that the URL may name, the usual reading first. `items` are those found by the page's keys.

    Among several items at one page, the newest active one wins. An item matching more of the request's query
    parameters wins over one matching fewer. An item registered under this very URL wins over all.
    """
    by_path: dict[str, dict[Parameters, Content]] = {path: {} for path in page.paths}
    registered_under_url: dict[str, Content] = {}
    for item in sorted(items, key=lambda item: (item.created, item.pk)):
        registered = RegisteredPage.from_url(item.source or "", settings.SAME_PAGE)
        if page.is_at(registered.host) and registered.path in by_path and registered.parameters <= page.parameters:
            keep_newest(by_path[registered.path], registered.parameters, item)
            if without_host(page_spelling(item.source or "", settings.SAME_PAGE)) == without_host(page.spelling):
                keep_newest(registered_under_url, page.spelling, item)
    if registered_under_url:
        return [Candidate(page.readings[0], registered_under_url[page.spelling])]
    return [
        Candidate(spellings, item)
        for spellings in page.readings
        for item in most_specific_items(page, by_path[spellings[-1]])
    ]


def without_host(spelling: str) -> str:
    return spelling.partition("/")[2]


def keep_newest(items: dict[K, Content], name: K, item: Content) -> None:
    """Store the item unless it is archived and the stored one is active. Call it with items from old to new."""
    if name not in items or item.status == Status.ACTIVE or items[name].status != Status.ACTIVE:
        items[name] = item


def most_specific_items(page: RequestedPages, items: dict[Parameters, Content]) -> list[Content | None]:
    """Return the items that no more specific item overrides; None stands for the page without their parameters."""
    items_by_parameters: dict[Parameters, Content | None] = {frozenset(): None, **items}
    certain = page.sure_parameters
    certain_parameters = [parameters for parameters in items if parameters <= certain]
    return [
        item
        for parameters, item in items_by_parameters.items()
        if not any(parameters < other for other in certain_parameters)
    ]
