"""Recording decisions, in the transaction of the caller: the answer leaves after that has committed."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db import connection

from analytics.models import AccessEvent, ContentUsage

UPSERT_USAGE = """
INSERT INTO {table} (content_id, requests, allowed) VALUES {rows}
ON CONFLICT (content_id) DO UPDATE
SET requests = {table}.requests + excluded.requests, allowed = {table}.allowed + excluded.allowed
"""


def record(events: Sequence[AccessEvent]) -> None:
    """Stores the events and counts them in the usage figures, both or neither."""
    if not events:
        return
    AccessEvent.objects.bulk_create(events)
    requests = Counter(event.content_id for event in events)
    allowed = Counter(event.content_id for event in events if event.allowed)
    field = ContentUsage._meta.pk.target_field  # type: ignore[attr-defined]
    values: list[Any] = []
    # In the order of the ids, so that transactions that touch the same items wait for each other in turn.
    for content_id in sorted(requests):
        key = field.get_db_prep_value(content_id, connection)
        values += [key, requests[content_id], allowed[content_id]]
    rows = ", ".join(["(%s, %s, %s)"] * len(requests))
    with connection.cursor() as cursor:
        cursor.execute(UPSERT_USAGE.format(table=ContentUsage._meta.db_table, rows=rows), values)
