"""Rolling up pending rows never changes reported figures, even with concurrent recording, reading and rolling up.

On SQLite the recorder updates the rollups itself, so nothing is ever pending there.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from analytics.ledger.entries import add_entries
from analytics.models import ContentRevenue, RecentRevenue, RecentUsage, RequesterRevenue, TierRevenue
from analytics.recording.recorder_sqlite import revenue_additions, usage_additions
from analytics.rollups import roll_up as module
from analytics.rollups.definitions import EVERY_PART, FirstParts
from analytics.rollups.roll_up import revenue_statement, roll_up
from analytics.usage.report import first_decision_hour, usage_report
from analytics.usage.subject_usage import content_stats
from analytics.windows import Window
from tests import factories, ledger
from tests.analytics.recording import recomputed, record_all, some_events, utc
from tests.lock_waits import in_thread

BEGIN, LAST = utc("2026-01-30"), utc("2026-02-03T23:59:59.999999")
WINDOW = Window(BEGIN, utc("2026-02-04"), "hour")
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="On SQLite nothing is ever pending.")


@pytest.fixture
def events(account):
    made = some_events(account, 400, BEGIN, 5, seed=4)
    record_all(made)
    return made


@on_postgresql
def test_figures_are_the_same_before_and_after(account, events):
    stats = {}
    for key in {event.content.pk for event in events}:
        outcomes = [event.reason is None for event in events if event.content.pk == key]
        stats[key] = {
            "totalRequests": len(outcomes),
            "allowedRequests": outcomes.count(True),
            "deniedRequests": outcomes.count(False),
        }
    assert len(stats) > 1
    first = min(event.created for event in events).replace(minute=0, second=0, microsecond=0)
    for is_pending in (True, False):
        assert RecentUsage.objects.exists() is is_pending
        assert usage_report([account.pk], WINDOW) == recomputed(events, BEGIN, LAST, "hour")
        assert {key: content_stats(account.pk, key) for key in stats} == stats
        assert first_decision_hour([account.pk]) == first
        call_command("fold_usage", stdout=StringIO())


@on_postgresql
def test_revenue_is_the_same_before_and_after(api, account):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    factories.license(account, per_access="0.05")
    for _ in range(3):
        assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})["charge"]
    before = api.get("/v1/analytics/revenue", period="7d").body
    assert before["summary"]["total"] == 0.15
    assert roll_up() == 6  # of each check, a row of decisions and one of charges
    assert not RecentRevenue.objects.exists()
    assert api.get("/v1/analytics/revenue", period="7d").body == before


@on_postgresql
def test_a_roll_up_of_the_previous_version_skips_entries_without_item_and_requester(account):
    add_entries([ledger.entry(account, "5")])
    statement = revenue_statement()
    for key in ("content_id", "requester_id"):  # yearly totals always left them out
        skipped = f"WHERE {key} IS NOT NULL GROUP BY account_id, day"
        assert skipped in statement
        statement = statement.replace(skipped, "GROUP BY account_id, day")
    with connection.cursor() as cursor:
        cursor.execute(statement, [100])
        assert cursor.fetchone() == (1,)
    counts = [model.objects.count() for model in (TierRevenue, ContentRevenue, RequesterRevenue, RecentRevenue)]
    assert counts == [1, 0, 0, 0]


@pytest.fixture
def batch(api, account):
    """Send a batch of checks of ten items of a policy; return the reply's decisions."""

    def send(rule):
        policy = factories.policy(account, rule)
        checks = [{"contentId": factories.content(account, policy_id=policy.pk).pk} for _ in range(10)]
        body = {"requester": "org_acme", "checks": checks}
        return api.post("/v1/access/check/batch", body)["data"]

    return send


def told_of(api, decisions):
    """Yield the usage report and the stats of each item from the API."""
    yield api.get("/v1/analytics/usage", period="7d").body
    for decision in decisions:
        yield api.get(f"/v1/content/{decision['contentId']}").body["stats"]


@on_postgresql
@pytest.mark.parametrize(("rule", "allowed"), [
    pytest.param(factories.ALLOW_ALL, 10, id="allowed"),
    pytest.param({"action": "deny", "conditions": {"default": True}}, 0, id="denied"),
    pytest.param({**factories.ALLOW_ALL, "rateLimit": {"requests": 4, "period": "hour"}}, 4, id="some beyond a limit"),
])  # fmt: skip
@pytest.mark.parametrize("price", [None, "0.05"], ids=["free", "charged"])
def test_figures_of_a_batch_are_the_same_before_and_after_the_rollup(api, account, batch, rule, allowed, price):
    if price:
        factories.license(account, per_access=price)
    decisions = batch(rule)
    assert RecentUsage.objects.exists()
    before = list(told_of(api, decisions))
    report, *items = before
    assert report["summary"]["totalRequests"] == 10
    assert report["summary"]["allowed"] == sum(decision["allowed"] for decision in decisions) == allowed
    assert [one["requests"] for one in report["topRequesters"]] == [10]
    assert sum(item["totalRequests"] for item in items) == 10
    assert sum(item["allowedRequests"] for item in items) == allowed
    roll_up()
    assert not RecentUsage.objects.exists()
    assert list(told_of(api, decisions)) == before


@on_postgresql
def test_recent_records_wait_and_a_roll_up_that_fails_changes_nothing(account, events, monkeypatch):
    waiting = RecentUsage.objects.count()
    assert waiting > 0
    assert roll_up(age=timedelta(minutes=1)) == 0
    with monkeypatch.context() as patched:
        patched.setattr(module, "revenue_statement", lambda: "SELECT 1 / 0 WHERE 1 < %s")
        with pytest.raises(Exception, match="division by zero"):
            roll_up()
    assert RecentUsage.objects.count() == waiting
    assert usage_report([account.pk], WINDOW) == recomputed(events, BEGIN, LAST, "hour")
    monkeypatch.setattr(module, "BATCH_ROWS", 3)  # more than one transaction
    assert roll_up() == waiting
    assert usage_report([account.pk], WINDOW) == recomputed(events, BEGIN, LAST, "hour")


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL rolls up pending rows.")
@pytest.mark.parametrize("first", [EVERY_PART, FirstParts(11, 29)])
def test_sqlite_adds_to_the_rollups_by_reading_nothing_but_the_new_rows(first):
    with connection.cursor() as cursor:
        for statement in usage_additions(first) + revenue_additions():
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", [0])
            reads = [step for *_, step in cursor.fetchall() if " analytics_" in step]
            assert len(reads) == 1, reads
            assert reads[0].endswith("USING INTEGER PRIMARY KEY (rowid>?)")


@pytest.mark.slow
def test_figures_add_up_at_every_moment_while_others_record_and_roll_up(transactional_db):
    account = factories.account()
    events = some_events(account, 300, BEGIN, 5, seed=5)
    parts = [events[part::3] for part in range(3)]
    seen = [0]
    with ThreadPoolExecutor(5) as pool:
        recorders = [pool.submit(in_thread, record_all, part) for part in parts]

        def roll_up_repeatedly():
            while not all(recorder.done() for recorder in recorders):
                roll_up()

        rollers = [pool.submit(in_thread, roll_up_repeatedly) for _ in range(2)]
        while not all(recorder.done() for recorder in recorders):
            report = usage_report([account.pk], WINDOW)
            total = report["summary"]["totalRequests"]
            assert total >= seen[-1]
            assert total == sum(bucket["requests"] for bucket in report["timeSeries"])
            assert report["summary"]["denied"] == sum(one["count"] for one in report["byDenialReason"])
            seen.append(total)
    assert [work.exception() for work in (*recorders, *rollers)] == [None] * 5
    assert usage_report([account.pk], WINDOW) == recomputed(events, BEGIN, LAST, "hour")
