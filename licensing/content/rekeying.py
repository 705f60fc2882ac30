"""The keys of items' URLs after the setting SAME_PAGE has changed."""

from collections.abc import Iterator

from django.db import transaction

from accounts.plans import epochs
from licensing.content.models import Content
from licensing.content.url_key import source_key

CHUNK = 1_000
SAMPLE = 50


def is_stale(item: Content) -> bool:
    return source_key(item.source) != bytes(item.source_key or b"")


def has_stale_keys() -> bool:
    """Whether an item is found by another URL than its own: of the oldest and the newest, which tell it of all."""
    with_url = Content.objects.exclude(source=None).only("source", "source_key")
    return any(map(is_stale, [*with_url.order_by("pk")[:SAMPLE], *with_url.order_by("-pk")[:SAMPLE]]))


def rekey() -> int:
    """Gives all items the keys of their URLs, in transactions of a thousand; how many had others."""
    return sum(rekeyed(account_id) for account_id in accounts_with_urls())


def accounts_with_urls() -> list[str]:
    owners = Content.objects.exclude(source=None).order_by("account_id").values_list("account_id", flat=True)
    return list(owners.distinct())


def rekeyed(account_id: str) -> int:
    return sum(chunks(account_id))


def chunks(account_id: str) -> Iterator[int]:
    items = Content.objects.filter(account_id=account_id).exclude(source=None).order_by("pk")
    last: str | None = None
    while True:
        with transaction.atomic():
            rest = items if last is None else items.filter(pk__gt=last)
            chunk = list(rest.only("source", "source_key").select_for_update()[:CHUNK])
            if not chunk:
                return
            last = chunk[-1].pk
            stale = [item for item in chunk if is_stale(item)]
            for item in stale:
                item.source_key = source_key(item.source)
            Content.objects.bulk_update(stale, ["source_key"], batch_size=200)
            if stale:
                epochs.bump(account_id, epochs.EVERYTHING)
            yield len(stale)
