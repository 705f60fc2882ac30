import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import BigIntegerField, IntegerField, Sum

from analytics.archive.models import ArchiveHorizon
from analytics.events.retention import LOCK, exclusive_maintenance, purge_events
from analytics.ledger.entries import add_entries
from analytics.models import (
    AccessEvent,
    ContentMonth,
    ContentRevenue,
    ContentRevenueYear,
    ContentYear,
    HourlyUsage,
    LedgerEntry,
    RequesterMonth,
    RequesterRevenue,
    RequesterRevenueYear,
    RequesterYear,
    TierRevenue,
)
from analytics.rollups.roll_up import roll_up
from analytics.usage.report import usage_report
from analytics.usage.subject_usage import content_stats
from analytics.windows import Window
from kit.http.errors import ApiError
from kit.values.amounts import TotalField
from licensing.visits.models import VisitsCounted
from tests import factories, ledger
from tests.analytics.recording import record_all, some_events, utc
from tests.commands.calling import ended
from tests.standing import as_new

COUNTS = (BigIntegerField, IntegerField, TotalField)
USAGE = [HourlyUsage, ContentYear, ContentMonth, RequesterYear, RequesterMonth]
REVENUE = [TierRevenue, RequesterRevenue, ContentRevenue, RequesterRevenueYear, ContentRevenueYear]
OF_YEARS = [(RequesterRevenueYear, "m10"), (ContentRevenueYear, "m12")] if connection.vendor == "postgresql" else []
BEGIN = datetime(2025, 10, 20, tzinfo=UTC)
WINDOW = Window(BEGIN, datetime(2026, 3, 1, tzinfo=UTC), "day")


@pytest.fixture(scope="module")
def recorded(for_the_module):
    """A module-scoped account and its events."""
    with for_the_module():
        account = factories.account()
        return account.pk, four_hundred(account)


@pytest.fixture
def account(recorded, db):
    return as_new(recorded[0])


@pytest.fixture
def events(recorded, account):
    return recorded[1]


def four_hundred(account):
    """400 events around the end of a year, with a ledger entry for each tenth event."""
    made = some_events(account, 400, BEGIN, 120, seed=7)
    record_all(made)
    usage = {"account": account, "type": "usage", "amount": Decimal("0.1"), "currency": "EUR", "license_type": "press"}
    for event in made[::10]:
        about = {"content_id": event.content.pk, "requester_id": event.requester.pk, "occurred_at": event.created}
        add_entries([LedgerEntry(**usage, **about)])
    roll_up()
    return made


def run(*options):
    """Return the object that the command prints, and whether it exits with 1."""
    end = ended("rebuild_usage", "--json", *options)
    return json.loads(end.out), end.status == 1


def kept(*models):
    """Return the rollups' figures."""
    said = {}
    for model in models:
        names = {field.name for field in model._meta.fields} - {"id", "pk"}
        counts = {name for name in names if type(model._meta.get_field(name)) in COUNTS} - {"month", "year"}
        sums = {f"sum_{name}": Sum(name) for name in counts}
        said[model.__name__] = sorted(map(str, model.objects.order_by().values(*names - counts).annotate(**sums)))
    return said


def test_everything_comes_back_from_nothing(events, account):
    assert run("--check") == ({"object": "usage_rebuild", "check": True, "rows": 0, "differences": []}, False)
    before, report = kept(*USAGE, *REVENUE), usage_report([account.pk], WINDOW)
    for model in (*USAGE, *REVENUE):
        model.objects.all().delete()
    assert run()[0]["rows"] > 0
    assert kept(*USAGE, *REVENUE) == before
    assert usage_report([account.pk], WINDOW) == report

    item = events[0].content
    before = content_stats(account.pk, item.pk)
    ContentYear.objects.all().delete()
    run()
    assert content_stats(account.pk, item.pk) == before


WRONG = [
    (HourlyUsage, "requests"), (ContentYear, "m11"), (ContentYear, "m12"), (ContentYear, "allowed"),
    (ContentMonth, "d7"), (RequesterYear, "allowed"), (RequesterMonth, "d31"), (TierRevenue, "amount"),
    (RequesterRevenue, "amount"), (ContentRevenue, "amount"), *OF_YEARS,
]  # fmt: skip


def test_wrong_figures_are_found_and_corrected(events):
    before = kept(*USAGE, *REVENUE)
    for place, (model, column) in enumerate(WRONG):
        row = model.objects.order_by("pk")[place]
        model.objects.filter(pk=row.pk).update(**{column: getattr(row, column) + 1})
    found, failed = run("--check")
    assert (found["rows"], failed) == (len(WRONG), True)
    rows = Counter()
    for difference in found["differences"]:
        rows[difference["rollup"]] += difference["rows"]
    assert rows == Counter(model.__name__.lower() for model, _ in WRONG)
    assert run() == ({**found, "check": False}, False)
    assert kept(*USAGE, *REVENUE) == before
    assert run("--check")[1] is False


def test_purged_months_keep_their_figures_and_the_rest_is_corrected(account, events):
    window = Window(utc("2024-01-01"), WINDOW.end, "month")
    before = usage_report([account.pk], window)
    HourlyUsage.objects.create(account=account, hour=utc("2024-05-01"), outcome="", requests=9)
    assert run("--check")[1] is True
    run()
    assert usage_report([account.pk], window) == before


@pytest.mark.parametrize("purges", [["2025-12-10", "2026-01-15"], ["2026-01-15", "2025-12-10"]])
def test_months_that_any_purge_removed_keep_their_figures(account, events, purges):
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:  # ids are from today, so not in their month's partition
            cursor.execute("DELETE FROM analytics_accessevent WHERE created < '2026-01-01'")
    before = kept(*USAGE)
    VisitsCounted.objects.create(pk=1, until=utc("2026-02-01"))  # otherwise the second purge counts a month by hours
    for until in purges:
        purge_events(utc(until))
    assert run("--check")[1] is False
    assert run()[0]["rows"] == 0
    assert kept(*USAGE) == before


def test_months_that_only_the_archive_has_since_a_purge_keep_their_figures(account, events):
    before = kept(*USAGE)
    purge_events(utc("2025-12-10"))
    ArchiveHorizon.objects.create(pk=1, begin=utc("2026-01-01"))
    AccessEvent.objects.filter(created__lt=utc("2026-01-01")).delete()
    assert run()[0]["rows"] == 0
    assert kept(*USAGE) == before


def test_the_rest_of_a_purged_year_is_corrected(account, events):
    purge_events(utc("2025-12-10"))
    row = ContentYear.objects.filter(year=2025, m12__gt=0)[0]
    row.m12 += 5
    row.save()
    assert run()[0]["rows"] == 1
    row.m12 -= 5
    again = ContentYear.objects.get(pk=row.pk)
    assert (again.m12, again.allowed) == (row.m12, row.allowed)


def test_one_account_or_the_months_since_one_can_be_rebuilt_alone(account, other_account, events):
    record_all(some_events(other_account, 20, BEGIN, 30, seed=8))
    HourlyUsage.objects.all().delete()
    run("--account", account.pk)
    assert set(HourlyUsage.objects.values_list("account_id", flat=True)) == {account.pk}
    HourlyUsage.objects.all().delete()
    run("--since", "2026-01")
    assert HourlyUsage.objects.earliest("hour").hour >= utc("2026-01-01")


def test_only_months_of_which_there_is_something_are_gone_through(account, events):
    for moment in ("1900-05-01", "2999-12-31", "9999-12-31"):
        ledger.add(account, "5", occurred_at=utc(moment))
    roll_up()
    TierRevenue.objects.all().delete()
    lines = ended("rebuild_usage").errors.splitlines()
    reached = [line.partition(" of ")[0] for line in lines if line[0] != " "]
    expected = sorted({"1900-05", *(f"{event.created:%Y-%m}" for event in events), "2999-12"})
    assert [name for name in reached if "-" in name] == expected
    assert {day.year for day in TierRevenue.objects.values_list("day", flat=True)} == {1900, 2025, 2026, 2999}


def test_months_that_agree_are_told_from_those_that_differ(account, events):
    row = HourlyUsage.objects.order_by("hour").first()
    HourlyUsage.objects.filter(pk=row.pk).update(requests=99)
    status, out, progress = ended("rebuild_usage", "--check")
    told = dict(line.split(": ", 1) for line in progress.splitlines() if line[:4].isdigit())
    differ = {place: words for place, words in told.items() if words != "agrees"}
    assert differ == {f"{row.hour:%Y-%m} of {account.pk}": "1 row of hourlyusage differ"}
    assert len(told) > 1
    assert (status, out.strip()) == (1, "1 row differs: 1 of hourlyusage")


@pytest.mark.parametrize("model", [ContentYear, *(model for model, _ in OF_YEARS)])
def test_a_year_of_which_there_is_nothing_but_totals_is_gone_through(events, model):
    row = model.objects.order_by("pk")[0]
    model.objects.filter(pk=row.pk).update(year=2019)
    for options in (("--check", "--since", "2019-06"), ()):
        found = {(one["period"], one["rollup"], one["rows"]) for one in run(*options)[0]["differences"]}
        assert found == {(period, model.__name__.lower(), 1) for period in ("2019", str(row.year))}
    assert run("--check")[1] is False


def test_invalid_options_and_simultaneous_rebuilds_are_refused(db, events):
    for options in (("--since", "January"), ("--account", "acc_x")):
        with pytest.raises((CommandError, ApiError)):
            call_command("rebuild_usage", *options)
    if connection.vendor == "sqlite":
        with exclusive_maintenance(), pytest.raises(CommandError, match="running already"):
            run()
        return
    with psycopg.connect(**parameters_of(connection)) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])  # released before the connection ends
        with pytest.raises(CommandError, match="running already"):
            run()


def parameters_of(connection):
    given = connection.get_connection_params()
    return {name: given[name] for name in ("host", "port", "user", "dbname")}
