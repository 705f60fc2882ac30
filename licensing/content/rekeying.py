"""Recompute the URL keys of items after SAME_PAGE has changed, or after an upgrade."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby

from django.conf import settings
from django.db import transaction

from accounts.plans import epochs
from kit.values.canonical_pages import RegisteredPage
from licensing.content.models import Content, Status
from licensing.content.url_key import as_bytes, page_keys, page_of_key, set_keys, source_key, spread_page_keys

CHUNK = 1_000
SAMPLE = 50


def is_stale(item: Content) -> bool:
    is_current = as_bytes(item.source_key) == source_key(item.source)
    return not is_current or as_bytes(item.page_key) not in page_keys(item.source)


def has_stale_keys() -> bool:
    """Whether items have outdated URL keys, judged by the 50 oldest and 50 newest."""
    with_url = Content.objects.exclude(source=None).only("source", "source_key", "page_key")
    return any(map(is_stale, [*with_url.order_by("pk")[:SAMPLE], *with_url.order_by("-pk")[:SAMPLE]]))


def count_items() -> int:
    """Return the number of items with URLs."""
    return Content.objects.exclude(source=None).count()


def rekey_items() -> Iterator[tuple[int, int]]:
    """Recompute the URL keys of all items. Yields how many a transaction has read, and how many were outdated."""
    for account_id in accounts_with_urls():
        yield from rekey_account(account_id)


def accounts_with_urls() -> list[str]:
    owners = Content.objects.exclude(source=None).order_by("account_id").values_list("account_id", flat=True)
    return list(owners.distinct())


def rekey_account(account_id: str) -> Iterator[tuple[int, int]]:
    items = Content.objects.filter(account_id=account_id).exclude(source=None).order_by("pk")
    last: str | None = None
    while True:
        with transaction.atomic():
            remaining = items if last is None else items.filter(pk__gt=last)
            chunk = list(remaining.only("source", "source_key", "page_key").select_for_update()[:CHUNK])
            if not chunk:
                return
            last = chunk[-1].pk
            stale = [item for item in chunk if is_stale(item)]
            for item in stale:
                set_keys(item)
            spread_page_keys(stale)
            Content.objects.bulk_update(stale, ["source_key", "page_key"], batch_size=200)
            if stale:
                epochs.invalidate(account_id, epochs.EVERYTHING)
            yield len(chunk), len(stale)


# --- Pages with several items ----------------------------------------------------------------------------------------


def contested_pages() -> Iterator[list[Content]]:
    """Yield the active items of each page that has items with different policies, newest (deciding) first.

    Reads items in the order of `page_key`, so that only one page's items are in memory at a time.
    """
    for account_id in accounts_with_urls():
        yield from contested_pages_in_account(account_id)


def contested_pages_in_account(account_id: str) -> Iterator[list[Content]]:
    items = Content.objects.of(account_id).filter(status=Status.ACTIVE).exclude(page_key=None)
    ordered = items.only("source", "page_key", "policy_id", "created").order_by("page_key").iterator(CHUNK)
    for _, group in groupby(ordered, key=lambda item: page_of_key(item.page_key)):
        neighbours = list(group)
        if len(neighbours) == 1:
            continue
        pages: defaultdict[RegisteredPage, list[Content]] = defaultdict(list)
        for item in neighbours:
            pages[RegisteredPage.from_url(item.source or "", settings.SAME_PAGE)].append(item)
        for page in pages.values():
            if len({item.policy_id for item in page}) > 1:
                yield sorted(page, key=lambda item: (item.created, item.pk), reverse=True)
