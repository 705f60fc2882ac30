from collections import Counter, defaultdict
from datetime import date
from decimal import Decimal

import pytest

from analytics.events.retention import store_horizon
from analytics.revenue.sums import sums_of_one
from analytics.rollups.roll_up import roll_up
from analytics.usage import subject_usage
from analytics.usage.subject_usage import read_subject_usage
from analytics.windows import DAY, Window, midnight
from kit.values.calendar import start_of_day, zone_named
from tests import factories, ledger
from tests.analytics.recording import record_all, requester, some_events, utc
from tests.standing import as_new

WINDOW = Window(utc("2026-01-15"), utc("2026-02-14"), "day")


def days_in(zone_name):
    """Return the same days of another zone."""
    zone = zone_named(zone_name)
    return Window(start_of_day(date(2026, 1, 15), zone), start_of_day(date(2026, 2, 14), zone), "day", zone)


@pytest.fixture(scope="module")
def recorded(for_the_module):
    """A module-scoped account and its events, beside those of another one."""
    with for_the_module():
        account = factories.account()
        made = some_events(account, 1_500, utc("2026-01-10"), 40, seed=5)
        record_all([*made, *some_events(factories.account("Other"), 200, utc("2026-01-10"), 40, seed=6)])
        return account.pk, made


@pytest.fixture
def account(recorded, db):
    return as_new(recorded[0])


@pytest.fixture
def events(recorded, account):
    return recorded[1]


def of(events, one, key, window=WINDOW):
    """Return (requests, allowed) by day for the item or requester `key`."""
    days = defaultdict(lambda: [0, 0])
    for event in events:
        if getattr(event, one).pk == key and window.start <= event.created < window.end:
            day = event.created.astimezone(window.zone).date()
            days[day][0] += 1
            days[day][1] += event.reason is None
    return days


@pytest.mark.parametrize("one", ["content", "requester"])
def test_usage_is_the_sum_of_the_events(account, events, one):
    for key in {getattr(event, one).pk for event in events}:
        found, wanted = read_subject_usage(one, account.pk, key, WINDOW), of(events, one, key)
        assert [(day.date, day.requests, day.allowed) for day in found.days] == [
            (bucket.date(), *wanted[bucket.date()]) for bucket in WINDOW.buckets()
        ]
        own = [event for event in events if getattr(event, one).pk == key]
        assert Counter(dict(found.reasons)) == Counter(
            event.reason for event in own if event.reason and WINDOW.start <= event.created < WINDOW.end
        )
        assert found.known_since is None


@pytest.mark.parametrize("rolled_up", [False, True])
@pytest.mark.parametrize("one", ["content", "requester"])
def test_of_more_decisions_than_are_taken_apart_the_number_of_every_day_is_known(
    account, events, monkeypatch, one, rolled_up
):
    monkeypatch.setattr(subject_usage, "MAX_GROUPED", 20)
    if rolled_up:
        roll_up()
    for key in {getattr(event, one).pk for event in events}:
        found, wanted = read_subject_usage(one, account.pk, key, WINDOW), of(events, one, key)
        assert [day.requests for day in found.days] == [wanted[bucket.date()][0] for bucket in WINDOW.buckets()]
        assert (found.known_since is not None) is (sum(requests for requests, _ in wanted.values()) >= 20)
        known = [day for day in found.days if day.allowed is not None]
        assert [day.allowed for day in known] == [wanted[day.date][1] for day in known]
        assert sum(count for _, count in found.reasons) == found.denied == sum(day.denied for day in known)


def test_days_whose_decisions_were_purged_have_their_number_alone(account, events):
    store_horizon(utc("2026-02-01"))
    key = events[0].requester.pk
    found = read_subject_usage("requester", account.pk, key, WINDOW)
    assert found.known_since == date(2026, 2, 1)
    assert [day.requests for day in found.days] == [
        of(events, "requester", key)[bucket.date()][0] for bucket in WINDOW.buckets()
    ]


@pytest.mark.parametrize("zone_name", ["Asia/Kathmandu", "America/St_Johns"])
def test_days_are_those_of_the_zone_unless_too_many_were_decided(account, events, monkeypatch, zone_name):
    window, key = days_in(zone_name), events[0].requester.pk
    found, wanted = read_subject_usage("requester", account.pk, key, window), of(events, "requester", key, window)
    assert {day.date: [day.requests, day.allowed] for day in found.days if day.requests} == wanted
    assert (len(found.days), found.window) == (30, window)
    monkeypatch.setattr(subject_usage, "MAX_GROUPED", 20)
    found = read_subject_usage("requester", account.pk, key, window)
    assert (len(found.days), str(found.window.zone)) == (30, "UTC")
    assert found.window.end in (utc("2026-02-14"), utc("2026-02-15"))


def test_nothing_was_asked_for_is_a_chart_of_noughts(account):
    found = read_subject_usage("requester", account.pk, requester(account, "quiet").pk, WINDOW)
    assert (len(found.days), found.requests, found.reasons, found.known_since) == (30, 0, [], None)


@pytest.mark.parametrize("one", ["content", "requester"])
def test_revenue_is_by_currency_within_the_days(account, other_account, one):
    mine, other = (
        {"content": factories.content(account), "requester": requester(account, name)} for name in ("mine", "other")
    )
    for amount, currency, day in (
        ("1.5", "EUR", "2026-01-15T00:00:00"),
        ("2.25", "EUR", "2026-02-13T23:59:59"),
        ("-0.000001", "EUR", "2026-02-01T12:00:00"),
        ("7", "JPY", "2026-02-01T12:00:00"),
        ("100", "EUR", "2026-01-14T23:59:59"),
        ("100", "USD", "2026-02-14T00:00:00"),
    ):
        ledger.add(account, amount, currency=currency, occurred_at=utc(day), **mine)
        ledger.add(account, "50", currency=currency, occurred_at=utc(day), **other)
    assert sums_of_one(one, account.pk, mine[one].pk, WINDOW) == {"EUR": Decimal("3.749999"), "JPY": Decimal(7)}
    berlin = days_in("Europe/Berlin")
    moved = {"EUR": Decimal("103.749999") - Decimal("2.25"), "JPY": Decimal(7)}  # 23:59 UTC is the next day there
    assert sums_of_one(one, account.pk, mine[one].pk, berlin) == moved


def test_a_charge_counts_before_and_after_the_roll_up(api, account):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    held = factories.license(account, per_access="0.05")
    for _ in range(3):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    today = midnight(held.created)
    window = Window(today - DAY, today + 2 * DAY, "day")
    for _ in range(2):
        for one, key in (("requester", held.requester_id), ("content", item.pk)):
            assert sums_of_one(one, account.pk, key, window) == {"USD": Decimal("0.15")}
        roll_up()
