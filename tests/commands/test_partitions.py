"""Monthly partitions and retention of recorded decisions (on SQLite there is one table, and rows are deleted)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from time import sleep

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from analytics.events import partitions
from analytics.events.retention import purge_events
from analytics.models import AccessEvent
from tests import factories
from tests.lock_waits import in_thread, is_waited_for, open_session

ON_POSTGRESQL = connection.vendor == "postgresql"


@pytest.fixture
def decide(api, account):
    item = factories.content(account)

    def send():
        return api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})

    send.item = item
    return send


def test_the_coming_months_have_their_partitions_after_the_command(db):
    call_command("make_partitions")
    months = {partitions.name_of(partitions.month_after(partitions.month_of(datetime.now(UTC)), n)) for n in range(4)}
    assert (
        (months <= partitions.list_partitions())
        if ON_POSTGRESQL
        else partitions.ensure_partitions(datetime.now(UTC)) == []
    )


def test_making_them_again_changes_nothing(db):
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
    this_month = partitions.month_of(datetime.now(UTC))
    purge_events(this_month)
    assert AccessEvent.objects.count() == (1 if ON_POSTGRESQL else 0)  # by the month of recording, or of the decision
    purge_events(partitions.month_after(this_month))
    assert AccessEvent.objects.count() == 0
    assert api.get(f"/v1/content/{decide.item.pk}")["stats"]["totalRequests"] == 1


def test_retention_leaves_the_month_under_way(decide):
    decide()
    call_command("make_partitions")
    call_command("purge_events", keep_days=0)
    assert AccessEvent.objects.count() == 1


@pytest.mark.parametrize("days", ["-1", "-40", "36501", "1000000000", "9" * 30])
def test_retention_for_a_time_that_makes_no_sense_is_refused(decide, days):
    decide()
    with pytest.raises(CommandError, match="--keep-days takes 0 to 36,500 days"):
        call_command("purge_events", f"--keep-days={days}")
    assert AccessEvent.objects.count() == 1


@pytest.mark.skipif(not ON_POSTGRESQL, reason="SQLite has one table")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", [partitions.ensure_partitions, partitions.drop_before])
def test_nobody_waits_behind_a_partition_that_waits_for_a_long_report(act):
    month = datetime(1999, 1, 1, tzinfo=UTC)
    following = partitions.month_after(month)
    partitions.ensure_partitions(month, months_ahead=0)
    arguments = (following, 0) if act is partitions.ensure_partitions else (following,)
    with open_session() as report, open_session(autocommit=True) as other, ThreadPoolExecutor(1) as thread:
        report.execute("SELECT count(*) FROM analytics_accessevent")
        waiting = thread.submit(in_thread, act, *arguments)
        while not is_waited_for(report.info.backend_pid, other):
            sleep(0.01)
        other.execute("SET statement_timeout = '20s'")
        other.execute("SELECT count(*) FROM analytics_accessevent")
        assert not waiting.done()
        report.rollback()
        [name] = waiting.result(timeout=60)
    assert (name in partitions.list_partitions()) is (act is partitions.ensure_partitions)
    partitions.drop_before(partitions.month_after(following))
    assert name not in partitions.list_partitions()
