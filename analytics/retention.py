"""Letting go of old events. What they added up to (`stats`, usage totals) stays."""

from datetime import datetime

from django.db import connection

from analytics.models import AccessEvent
from analytics.partitions import drop_before, month_of

BATCH = 10_000


def purge_events(before: datetime) -> int | list[str]:
    """Deletes the events of the whole months before that moment.

    On PostgreSQL drops their partitions and returns their names; on SQLite deletes in batches, so that recording goes
    on in between, and returns how many events there were.
    """
    month = month_of(before)
    if connection.vendor == "postgresql":
        return drop_before(month)
    deleted = 0
    while True:
        some = list(AccessEvent.objects.filter(created__lt=month).values_list("pk", flat=True)[:BATCH])
        if not some:
            return deleted
        deleted += AccessEvent.objects.filter(pk__in=some).delete()[0]
