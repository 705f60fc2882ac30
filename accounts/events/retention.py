"""Retention of events."""

from datetime import datetime

from django.db import transaction
from django.dispatch import Signal

from accounts.events.models import Event
from kit.storage.sqlite_turns import turn_to_write
from kit.values import ids

CHUNK_ROWS = 1_000
events_deleted = Signal()  # sent with `before`, after all events from before that time have been deleted


def purge(before: datetime) -> int:
    """Delete events created before a time, with their deliveries and attempts; return the number of events.

    Works in chunks, each in its own transaction, so an interrupted purge continues next time.
    """
    deleted = 0
    while True:
        with turn_to_write(), transaction.atomic():
            old = Event._base_manager.filter(pk__lt=ids.first_id("evt", before)).order_by("pk")
            chunk = list(old.values_list("pk", flat=True)[:CHUNK_ROWS])
            _, numbers = Event._base_manager.filter(pk__in=chunk).delete()
        deleted += numbers.get(Event._meta.label, 0)  # fewer than the chunk if another purge runs
        if len(chunk) < CHUNK_ROWS:
            events_deleted.send(Event, before=before)
            return deleted
