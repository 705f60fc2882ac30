"""Idempotency-Key records looked up on the event loop (licensing.access.event_loop.retries)."""

import asyncio
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import IdempotencyRecord
from licensing.access.event_loop.calls import Calls
from licensing.access.event_loop.retries import FIND, Retries

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="On SQLite the check's transaction finds them."),
]


@pytest.mark.parametrize("records", [0, 500])
@pytest.mark.parametrize("analyzed", [False, True])
def test_records_are_looked_up_by_primary_key_with_any_statistics(account, records, analyzed):
    created = timezone.now() - timedelta(minutes=1)
    IdempotencyRecord.objects.bulk_create(
        IdempotencyRecord(account=account, key=str(number), fingerprint=b"", created=created)
        for number in range(records)
    )
    if analyzed:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE accounts_idempotencyrecord")

    async def explain():
        sessions = Retries(Calls()).sessions
        try:
            return await sessions.run(f"EXPLAIN {FIND}", ["[]"])
        finally:
            for session in sessions.idle:
                session.close()

    plan = "\n".join(line.decode() for [line] in asyncio.run(explain()))
    assert re.findall(r"Scan using (\w+)", plan) == ["accounts_idempotencyrecord_pkey"]
    assert set(re.findall(r"(\w+) Scan on", plan)) == {"Function"}
    assert re.search(r"Index Cond: .*account.* AND .*key", plan)
