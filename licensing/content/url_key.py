"""Look-up keys of items: one for the URL (checks, filters) and one for the page (edge).

Equivalent URLs have equal keys, so that no other spelling of a page's URL avoids a denial.
"""

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b

from django.conf import settings
from django.db.models import Count

from kit.values.canonical_pages import HALF, RegisteredPage
from kit.values.urls import normalise
from licensing.content.models import Content


def source_key(url: str | None) -> bytes | None:
    """Return a 16-byte digest of the normal form of an http(s) URL, under the SAME_PAGE setting. None for None."""
    if url is None:
        return None
    form = normalise(url)
    if settings.SAME_PAGE is not None:
        form = settings.SAME_PAGE.form(form)
    return blake2b(form.encode(), digest_size=16).digest()


def page_keys(url: str | None) -> list[bytes | None]:
    """Return the possible page keys of a URL: several if it has several parameters. Requests are looked up by them."""
    return [None] if url is None else list(RegisteredPage.from_url(url, settings.SAME_PAGE).keys)


def set_keys(item: Content) -> None:
    """Set the keys of the item's URL. `spread_page_keys` then chooses among several page keys."""
    item.source_key = source_key(item.source)
    keys = page_keys(item.source)
    if as_bytes(item.page_key) not in keys:
        item.page_key = keys[0]


def spread_page_keys(items: Iterable[Content]) -> None:
    """Choose page keys for items of one account whose URLs have several parameters: the least common key each.

    For example, `?view=article&id=5` is stored under `id=5`, because all articles of the page share `view=article`.
    """
    items_with_keys = [(item, page_keys(item.source)) for item in items]
    ambiguous_items = [(item, keys) for item, keys in items_with_keys if len(keys) > 1]
    if not ambiguous_items:
        return
    candidates = {key for _, keys in ambiguous_items for key in keys}
    account_id = ambiguous_items[0][0].account_id
    others = Content.objects.of(account_id).exclude(pk__in=[item.pk for item, _ in ambiguous_items])
    rows = others.filter(page_key__in=candidates).order_by().values_list("page_key").annotate(Count("pk"))
    counts = Counter({bytes(key): count for key, count in rows})
    for item, keys in ambiguous_items:
        item.page_key = min(keys, key=lambda key: counts[key or b""])
        counts[item.page_key or b""] += 1


def url_epoch_names(item: Content) -> set[str]:
    """Return the epoch names of the item's URL (accounts.plans.epochs)."""
    keys = (as_bytes(item.source_key), page_of_key(item.page_key))
    return {key.hex() for key in keys if key is not None}


def page_of_key(key: bytes | memoryview | None) -> bytes | None:
    """Return the first half of a `page_key`, which is the same for all items of a page."""
    return None if key is None else bytes(key)[:HALF]


def as_bytes(key: bytes | memoryview | None) -> bytes | None:
    return None if key is None else bytes(key)
