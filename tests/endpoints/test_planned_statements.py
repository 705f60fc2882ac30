from contextlib import nullcontext

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import F, FloatField, Value
from django.db.models.functions import Cast, Sqrt

from accounts.models import Account
from kit import statement_timeout
from kit.rest.lists.orders import INDEX_ORDER_SETTINGS, read_in_order
from kit.storage.limited import TookTooLong, rows_within
from kit.storage.postgresql.base import limit_statement
from kit.storage.reading import read_snapshot
from tests import factories

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no such settings"),
]
AROUND = {"nothing": nullcontext, "a transaction": transaction.atomic, "a snapshot": read_snapshot}
WITHOUT_BITMAPS = {"enable_bitmapscan": "off"}


def shown() -> dict[str, str]:
    with connection.cursor() as cursor:
        found = {}
        for name in (*INDEX_ORDER_SETTINGS, *WITHOUT_BITMAPS):
            cursor.cursor.execute(f"SHOW {name}")  # the inner cursor: without wrappers
            [found[name]] = cursor.cursor.fetchone()
        return found


def test_no_statement_is_compiled():
    """Compiling a page's statement took seconds, and running it less than one."""
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("SHOW jit")
        assert cursor.fetchone() == ("off",)


@pytest.mark.parametrize("pooling", ["session", "transaction"])
@pytest.mark.parametrize("around", AROUND)
def test_settings_end_with_their_statement(settings, pooling, around, monkeypatch):
    settings.DATABASE_POOLING = pooling
    if pooling == "transaction":
        monkeypatch.setattr(connection, "execute_wrappers", [limit_statement])
    account = factories.account()
    rows = Account.objects.order_by("-created", "-id")
    failing = rows.annotate(root=Sqrt(Cast(Value(-1) + 0 * F("epoch"), FloatField())))
    with statement_timeout.time_limit(5):
        before = shown()
        with AROUND[around]():
            assert [one.pk for one in read_in_order(rows[:5])] == [account.pk]
            assert rows_within(connection, 1, "SELECT 7", (), WITHOUT_BITMAPS) == [(7,)]
            assert shown() == before
            with pytest.raises(TookTooLong):
                rows_within(connection, 0.2, "SELECT pg_sleep(2)", (), WITHOUT_BITMAPS)
            with pytest.raises(DatabaseError), nullcontext() if around == "nothing" else transaction.atomic():
                read_in_order(failing[:5])
            assert [one.pk for one in read_in_order(rows[:5])] == [account.pk]
            assert shown() == before
        assert shown() == before
