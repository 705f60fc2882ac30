import pytest
from django.db import connection

from kit.storage.exclusive import ExclusiveLock

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def locks():
    """Two that want the same lock."""
    pair = [ExclusiveLock(7, ".seven"), ExclusiveLock(7, ".seven")]
    yield pair
    for lock in pair:
        lock.release()


def test_one_holds_it_until_it_releases_it(locks):
    first, second = locks
    assert [first.take(), second.take(), first.take()] == [True, False, True]
    first.release()
    assert [second.take(), first.take()] == [True, False]


def test_a_holder_that_loses_its_connection_loses_the_lock(locks):
    if connection.vendor != "postgresql":
        pytest.skip("a file has no connection")
    first, second = locks
    assert first.take()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [first.held.info.backend_pid])
        cursor.execute("SELECT pg_advisory_xact_lock(7)")  # waits for the end of the other's transaction
    assert second.take()
    assert not first.take()
