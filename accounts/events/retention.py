"""How long events are kept."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.db import transaction

from accounts.events.models import Event
from kit.storage.sqlite_turns import turn_to_write
from kit.values import ids

CHUNK = 1_000
forgetting: list[Callable[[datetime], None]] = []  # drop what is noted about the time before a moment
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def first_id_of(moment: datetime) -> str:
    """Ids made before that moment sort before it: they begin with their milliseconds (UUIDv7)."""
    milliseconds = (moment - EPOCH) // timedelta(milliseconds=1)
    return ids.encode("evt", milliseconds.to_bytes(6) + bytes(10))


def purge(before: datetime) -> int:
    """Deletes the events from before that moment, with their deliveries and attempts; returns how many.

    In chunks, each a transaction: whatever ends it leaves the rest for the next time.
    """
    deleted = 0
    while True:
        with turn_to_write(), transaction.atomic():
            old = Event.objects.filter(pk__lt=first_id_of(before)).order_by("pk")
            chunk = list(old.values_list("pk", flat=True)[:CHUNK])
            Event.objects.filter(pk__in=chunk).delete()
        deleted += len(chunk)
        if len(chunk) < CHUNK:
            for forget in forgetting:
                forget(before)
            return deleted
