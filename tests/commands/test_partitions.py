"""Partitions by month and by day, and retention of decisions (on SQLite there is one table; rows are deleted)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from analytics.events import partitions
from analytics.events.retention import purge_events
from analytics.models import AccessEvent
from licensing.visits.models import VisitsCounted
from tests import factories
from tests.analytics.recording import record_all, some_events
from tests.lock_waits import at_once, in_thread, open_session, wait_until_blocked

ON_POSTGRESQL = connection.vendor == "postgresql"
only_on_postgresql = pytest.mark.skipif(not ON_POSTGRESQL, reason="SQLite has one table")


@pytest.fixture
def decide(api, account):
    item = factories.content(account)

    def send():
        return api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})

    send.item = item
    return send


def test_the_coming_months_have_their_partitions_after_the_command(db):
    call_command("make_partitions")
    this_month = partitions.month_start(datetime.now(UTC))
    months = {partitions.PartitionSpan.of_month(partitions.month_after(this_month, n)).name for n in range(4)}
    assert not ON_POSTGRESQL or months <= partitions.list_partitions()
    call_command("make_partitions")
    assert partitions.ensure_partitions(datetime.now(UTC)) == []


def test_a_decision_recorded_before_its_partition_is_kept_when_that_is_made(api, decide):
    recorded = decide()
    call_command("make_partitions")
    assert api.get(f"/v1/access/decisions/{recorded['id']}")["id"] == recorded["id"]
    assert decide().status == 200
    assert AccessEvent.objects.count() == 2


def test_retention_deletes_whole_months_and_keeps_the_totals(api, decide):
    decide()
    call_command("make_partitions")
    AccessEvent.objects.update(created=datetime(2020, 1, 15, tzinfo=UTC))
    VisitsCounted.objects.create(pk=1, until=datetime.now(UTC))  # otherwise the second purge counts a month by hours
    this_month = partitions.month_start(datetime.now(UTC))
    purge_events(this_month)
    assert AccessEvent.objects.count() == (1 if ON_POSTGRESQL else 0)  # by the month of recording, or of the decision
    purge_events(partitions.month_after(this_month))
    assert AccessEvent.objects.count() == 0
    assert api.get(f"/v1/content/{decide.item.pk}")["stats"]["totalRequests"] == 1


def test_retention_leaves_the_month_under_way_and_takes_sensible_times(decide):
    decide()
    call_command("make_partitions")
    call_command("purge_events", keep_days=0)
    assert AccessEvent.objects.count() == 1

    for days in ("-1", "-40", "36501", "1000000000", "9" * 30):
        with pytest.raises(CommandError, match="--keep-days takes 0 to 36,500 days"):
            call_command("purge_events", f"--keep-days={days}")
        assert AccessEvent.objects.count() == 1, days


def test_retention_also_deletes_decisions_that_have_no_partition_of_their_own(api, account):
    """PostgreSQL keeps such decisions in the default partition."""
    begin = datetime(2019, 3, 1, tzinfo=UTC)
    record_all(some_events(account, 30, begin, 60, seed=1))
    kept = AccessEvent.objects.filter(created__gte=datetime(2019, 4, 1, tzinfo=UTC)).count()
    assert 0 < kept < 30
    purge_events(datetime(2019, 4, 15, tzinfo=UTC))
    assert AccessEvent.objects.count() == api.get("/v1/access/decisions?limit=1")["totalCount"] == kept


@pytest.fixture
def busy_months(db, monkeypatch):
    """More than three decisions make a month busy."""
    monkeypatch.setattr(partitions, "MAX_MONTH_EVENTS", 3)
    count_events()  # PostgreSQL still has the count of a former test, even after a rollback


def count_events():
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE analytics_accessevent")


def decide_often(decide):
    for _ in range(4):
        decide()
    count_events()


def names_of(month):
    return sorted(
        name for name in partitions.list_partitions() if partitions.PartitionSpan.of_month(month).overlaps(name)
    )


THIS_MONTH = partitions.month_start(datetime.now(UTC))
NEXT_MONTH = partitions.month_after(THIS_MONTH)
DAYS = [day.name for day in partitions.PartitionSpan.of_month(NEXT_MONTH).days()]


@only_on_postgresql
def test_a_month_after_a_busy_one_is_partitioned_by_day(busy_months, decide):
    call_command("make_partitions")
    decide_often(decide)
    assert partitions.ensure_partitions(datetime.now(UTC)) == names_of(NEXT_MONTH) == DAYS
    assert len(DAYS) == (partitions.month_after(NEXT_MONTH) - NEXT_MONTH).days
    assert partitions.ensure_partitions(datetime.now(UTC)) == []


@only_on_postgresql
def test_a_month_that_has_decisions_already_keeps_its_partition(busy_months, decide):
    last_month = partitions.month_after(THIS_MONTH, -1)
    partitions.ensure_partitions(last_month)
    record_all(some_events(decide.item.account, 8, last_month + timedelta(days=1), 20, seed=1))
    decide_often(decide)
    assert partitions.is_busy(last_month)
    call_command("make_partitions")
    assert names_of(THIS_MONTH) == [partitions.PartitionSpan.of_month(THIS_MONTH).name]


@only_on_postgresql
def test_interrupted_division_into_days_is_completed(busy_months, decide, monkeypatch):
    call_command("make_partitions")
    decide_often(decide)
    made = iter([True] * 5)
    make = partitions.make_partition
    monkeypatch.setattr(partitions, "make_partition", lambda span: next(made) and make(span))
    with pytest.raises(StopIteration):
        call_command("make_partitions")
    monkeypatch.undo()
    assert names_of(NEXT_MONTH) == DAYS[:5]
    call_command("make_partitions")
    assert names_of(NEXT_MONTH) == DAYS


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_processes_that_divide_a_month_at_once_make_each_day_once(monkeypatch):
    month = datetime(1999, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(partitions, "is_busy", lambda month: False)
    partitions.ensure_partitions(month, months_ahead=0)
    monkeypatch.setattr(partitions, "is_busy", lambda month: True)
    made = at_once(*[lambda: partitions.ensure_partitions(month, months_ahead=0)] * 3)
    days = [day.name for day in partitions.PartitionSpan.of_month(month).days()]
    assert sorted(name for some in made for name in some) == names_of(month) == days
    partitions.drop_before(partitions.month_after(month))


@only_on_postgresql
def test_decisions_by_day_are_listed_and_dropped_with_their_month(busy_months, api, decide):
    call_command("make_partitions")
    decide_often(decide)
    call_command("make_partitions")
    record_all(some_events(decide.item.account, 40, NEXT_MONTH + timedelta(days=1), 20, seed=1))
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT tableoid) FROM analytics_accessevent")
        assert cursor.fetchone()[0] > 10
    assert len(api.get("/v1/access/decisions?limit=100")["data"]) == 44
    purge_events(partitions.month_after(NEXT_MONTH))
    assert names_of(NEXT_MONTH) == []
    assert AccessEvent.objects.count() == 0


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("pooling", ["session", "transaction"])
@pytest.mark.parametrize("act", [partitions.ensure_partitions, partitions.drop_before])
def test_changing_partitions_during_a_long_report_blocks_nobody(act, pooling, settings):
    settings.DATABASE_POOLING = pooling
    month = datetime(1999, 1, 1, tzinfo=UTC)
    following = partitions.month_after(month)
    partitions.ensure_partitions(month, months_ahead=0)
    arguments = (following, 0) if act is partitions.ensure_partitions else (following,)
    with open_session() as report, open_session(autocommit=True) as other, ThreadPoolExecutor(1) as thread:
        report.execute("SELECT count(*) FROM analytics_accessevent")
        waiting = thread.submit(in_thread, act, *arguments)
        assert wait_until_blocked(waiting, report.info.backend_pid, other)
        other.execute("SET statement_timeout = '20s'")
        other.execute("SELECT count(*) FROM analytics_accessevent")
        assert not waiting.done()
        report.rollback()
        [name] = waiting.result(timeout=60)
    assert (name in partitions.list_partitions()) is (act is partitions.ensure_partitions)
    partitions.drop_before(partitions.month_after(following))
    assert name not in partitions.list_partitions()
