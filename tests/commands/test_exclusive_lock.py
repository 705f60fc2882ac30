import re
from collections import Counter

import pytest
from django.db import connection

from analytics.models import RecentUsage
from analytics.rollups.roll_up import roll_up
from config import background
from kit.storage.exclusive import ExclusiveLock
from tests.analytics.recording import record_all, some_events, utc
from tests.source_files import PRODUCT, sources

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


@pytest.fixture
def shared_work():
    lock = background.SharedWork().lock
    assert lock.take()
    yield
    lock.release()


def test_the_process_that_runs_the_jobs_of_all_rolls_up(account, shared_work):
    """Both hold an advisory lock of the same database, on connections of their own."""
    record_all(some_events(account, 10, utc("2026-01-30"), 1, seed=1))
    roll_up()
    assert not RecentUsage.objects.exists()


def test_advisory_locks_have_different_numbers():
    numbers = Counter()
    for path in sources(*PRODUCT):
        numbers.update(re.findall(r"^LOCK = ([0-9_]+)", path.read_text(), re.MULTILINE))
    assert len(numbers) > 5
    assert [number for number, times in numbers.items() if times > 1] == []
