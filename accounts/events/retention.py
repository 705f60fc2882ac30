"""Retention of events."""

from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.dispatch import Signal

from accounts.events.models import Event
from kit.storage.sqlite_turns import turn_to_write
from kit.values import ids

CHUNK_ROWS = 1_000
events_deleted = Signal()  # sent with `before`, after all events from before that time have been deleted
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def first_id_at(moment: datetime) -> str:
    """Return the smallest event id of that millisecond. Ids are UUIDv7, so those created earlier sort before it."""
    milliseconds = (moment - EPOCH) // timedelta(milliseconds=1)
    return ids.encode("evt", milliseconds.to_bytes(6) + bytes(10))


def purge(before: datetime) -> int:
    """Delete events created before a time, with their deliveries and attempts; return the number of events.

    Works in chunks, each in its own transaction, so an interrupted purge continues next time.
    """
    deleted = 0
    while True:
        with turn_to_write(), transaction.atomic():
            old = Event._base_manager.filter(pk__lt=first_id_at(before)).order_by("pk")
            chunk = list(old.values_list("pk", flat=True)[:CHUNK_ROWS])
            _, numbers = Event._base_manager.filter(pk__in=chunk).delete()
        deleted += numbers.get(Event._meta.label, 0)  # fewer than the chunk if another purge runs
        if len(chunk) < CHUNK_ROWS:
            events_deleted.send(Event, before=before)
            return deleted
