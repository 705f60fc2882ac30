from datetime import UTC, datetime, timedelta
from itertools import product
from threading import Thread

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.rollups.roll_up import roll_up
from analytics.usage import report
from analytics.usage.report import first_decision_hour, usage_report
from analytics.windows import GROUPS, MICROSECOND, USAGE, Window
from tests.analytics.recording import Event, recomputed, record_all, requester, some_events, utc
from tests.clock import clock  # noqa: F401 - a fixture
from tests.examples import examples

BEGIN = datetime(2024, 11, 20, tzinfo=UTC)
NOW = datetime(2026, 2, 10, 15, 30, tzinfo=UTC)


@pytest.fixture
def events(account, other_account):
    """Thousands of events over fifteen months; another account has some too."""
    made = some_events(account, 3_000, BEGIN, (NOW - BEGIN).days, seed=1)
    record_all([*made, *some_events(other_account, 500, BEGIN, 400, seed=2)])
    return made


@pytest.mark.slow
def test_the_figures_of_any_window_are_the_sum_of_its_events(account, events):
    anywhere = st.datetimes(BEGIN.replace(tzinfo=None), NOW.replace(tzinfo=None))
    midnights = anywhere.map(lambda moment: moment.replace(hour=0, minute=0, second=0, microsecond=0))
    at_events = st.sampled_from([event.created.replace(tzinfo=None) for event in events])
    moments = anywhere | midnights | at_events

    @settings(max_examples=examples(120), deadline=None, derandomize=True)
    @given(moments, moments, st.sampled_from(GROUPS))
    def holds(one, other, group_by):
        start, last = (moment.replace(tzinfo=UTC) for moment in sorted((one, other)))
        window = Window(start, last + MICROSECOND, group_by)
        assert usage_report([account.pk], window) == recomputed(events, start, last, group_by)

    holds()


@pytest.mark.slow
def test_the_figures_of_any_period_are_the_sum_of_its_events(account, events):
    for period, group_by in product(USAGE.periods, GROUPS):
        if (period, group_by) == ("all", "hour"):
            continue  # more hours than a report has buckets
        window = USAGE.parse({"period": period, "groupBy": group_by}, NOW, lambda: first_decision_hour([account.pk]))
        wanted = recomputed(events, window.start, window.end - MICROSECOND, group_by)
        assert usage_report([account.pk], window) == wanted, (period, group_by)


def test_days_with_a_utc_offset_begin_and_end_at_that_offset(api, account, clock, events):  # noqa: F811
    clock.now = NOW
    reply = api.get(
        "/v1/analytics/usage", startDate="2025-06-01T00:00:00+05:45", endDate="2025-06-30T23:59:59.999999-08:00"
    )
    start, last = utc("2025-05-31T18:15:00"), utc("2025-07-01T07:59:59.999999")
    assert reply.body == recomputed(events, start, last, "day")


@pytest.mark.django_db(transaction=True)
def test_a_decision_after_midnight_is_not_in_a_report_that_began_before_it(account, monkeypatch):
    """The report uses a whole month's rollup only if nothing was recorded after its window."""
    original = report.rolled_up_hours
    events = some_events(account, 50, utc("2026-02-03"), 6, seed=3)
    record_all(events)
    roll_up()
    late = Event(utc("2026-02-11T00:00:01"), events[0].content, requester(account, "late"), None)
    later = Window(utc("2026-02-11"), utc("2026-02-12"), "day")
    window = USAGE.parse({"period": "30d"}, NOW, lambda: None)

    def record_late():
        record_all([late])
        roll_up()
        connection.close()

    def hours_known_before(accounts):
        known = original(accounts)
        thread = Thread(target=record_late)
        thread.start()
        thread.join()
        return known

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(report, "rolled_up_hours", hours_known_before)
        found = usage_report([account.pk], window)
    assert found == recomputed(events, window.start, window.end - MICROSECOND, "day")
    assert usage_report([account.pk], later)["summary"]["totalRequests"] == 1


def test_several_accounts_are_added_up(account, other_account, events):
    window = Window(BEGIN, NOW + timedelta(days=1), "month")
    both = usage_report([account.pk, other_account.pk], window)
    alone = [usage_report([one.pk], window)["summary"]["totalRequests"] for one in (account, other_account)]
    assert both["summary"]["totalRequests"] == sum(alone)
