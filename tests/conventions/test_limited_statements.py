import pytest
from django.db import OperationalError, connection

from kit.storage.limited import TookTooLong, number_within

# Too much work for any machine within the time limit.
NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000000)"
ENDLESS = f"{NUMBERS} SELECT count(*) FROM n"  # noqa: S608
ALONE = pytest.param(False, marks=pytest.mark.django_db(transaction=True))
WITHIN = pytest.param(True, marks=pytest.mark.django_db)


@pytest.mark.parametrize("in_transaction", [ALONE, WITHIN], ids=["alone", "in a transaction"])
def test_a_statement_ends_at_its_time_limit_and_the_connection_goes_on(in_transaction):
    assert connection.in_atomic_block is in_transaction
    with pytest.raises(TookTooLong):
        number_within(0.05, ENDLESS, [])
    assert number_within(5, "SELECT %s + 1", [1]) == 2
    assert timeout() == "0"


def timeout():
    """Return the statement timeout of the connection."""
    if connection.vendor == "sqlite":
        return "0"
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        return cursor.fetchone()[0]


@pytest.mark.django_db
def test_a_count_for_a_disconnected_client_is_not_estimated(for_nobody):
    if connection.vendor == "sqlite":  # PostgreSQL ends a statement by its time alone
        with pytest.raises(OperationalError):
            number_within(5, ENDLESS, [])
