"""Which registered items decide a requested page, and where patterns do.

Origins read some URLs in different ways (kit.values.paths). Each reading may name another page: all of them are
candidates, and the strictest decides (licensing.access.decisions).
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from django.conf import settings

from kit.values.pages import Parameters, Registered, Requested, spelling_of
from licensing.content.models import Content, Status

K = TypeVar("K")


class Candidate(NamedTuple):
    """A page that the URL may name: a registered item, or None where the site's patterns decide the path."""

    path: str
    item: Content | None


def requested_page(url: str) -> Requested:
    return Requested.from_url(url, settings.SAME_PAGE)


def candidates_of(page: Requested, items: Iterable[Content]) -> list[Candidate]:
    """Return the pages that the URL may name, by the usual reading first. `items` are those found by the page's keys.

    Of several items at one page the newest active one counts. An item whose query the request has goes before one with
    less of it. An item that is registered under this very URL goes before all.
    """
    by_path: dict[str, dict[Parameters, Content]] = {path: {} for path in page.paths}
    same: dict[str, Content] = {}
    for item in sorted(items, key=lambda item: (item.created, item.pk)):
        registered = Registered.from_url(item.source or "", settings.SAME_PAGE)
        if registered.host == page.host and registered.path in by_path and registered.parameters <= page.parameters:
            keep_newest(by_path[registered.path], registered.parameters, item)
            if spelling_of(item.source or "", settings.SAME_PAGE) == page.spelling:
                keep_newest(same, page.spelling, item)
    if same:
        return [Candidate(page.paths[0], same[page.spelling])]
    return [Candidate(path, item) for path in page.paths for item in most_specific_items(page, by_path[path])]


def keep_newest(found: dict[K, Content], name: K, item: Content) -> None:
    """Keep the item unless an active one would give way to an archived one. Items come in order of age."""
    if name not in found or item.status == Status.ACTIVE or found[name].status != Status.ACTIVE:
        found[name] = item


def most_specific_items(page: Requested, items: dict[Parameters, Content]) -> list[Content | None]:
    """Return the items that no other goes before; None stands for the page without any of their parameters."""
    known: dict[Parameters, Content | None] = {frozenset(): None, **items}
    sure = [parameters for parameters in items if page.is_sure_of(parameters)]
    return [item for parameters, item in known.items() if not any(parameters < other for other in sure)]
