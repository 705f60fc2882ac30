"""Monthly partitions and retention of recorded decisions (on SQLite there is one table, and rows are deleted)."""

from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from analytics.events import partitions
from analytics.events.retention import purge_events
from analytics.models import AccessEvent
from tests import factories

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
