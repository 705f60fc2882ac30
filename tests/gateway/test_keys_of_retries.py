import re
from datetime import timedelta
from os import urandom

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import IdempotencyRecord
from accounts.retries.idempotency import find_records

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="On SQLite the check's transaction finds them."),
]


@pytest.mark.parametrize("analyzed", [False, True])
def test_records_are_looked_up_by_primary_key_with_any_statistics(account, analyzed):
    created = timezone.now() - timedelta(minutes=1)
    IdempotencyRecord.objects.bulk_create(
        IdempotencyRecord(account=account, key=str(number), fingerprint=b"", created=created, reply=urandom(1_000))
        for number in range(500)
    )
    if analyzed:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE accounts_idempotencyrecord")

    for keys in ["1"], ["1", "2", "none"]:
        with CaptureQueriesContext(connection) as queries:
            found = find_records([(account.pk, key) for key in keys])
        assert [record.key for record in found if record] == keys[:2]
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {queries[0]['sql']}")
            plan = "\n".join(line for [line] in cursor.fetchall())
        assert re.findall(r"(?:Scan using|Index Scan on) (\w+)", plan) == ["accounts_idempotencyrecord_pkey"], plan
        assert re.search(r"Index Cond: .*account.* AND .*key", plan), plan
