import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from analytics.ledger.entries import add_entries
from analytics.revenue.report import revenue_report, unconverted_revenue
from analytics.usage.report import usage_report
from analytics.windows import USAGE
from tests import factories, ledger
from tests.analytics.recording import Event, record_all, requester
from tests.clock import clock  # noqa: F401 - a fixture

ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"]
NOW = datetime(2026, 4, 2, 15, 30, tzinfo=UTC)


def local_label(moment, zone, group_by):
    local = moment.astimezone(ZoneInfo(zone))
    if group_by == "month":
        return f"{local:%Y-%m-01}"
    day = local.date()
    return str(day - timedelta(days=day.weekday())) if group_by == "week" else str(day)


@pytest.mark.django_db
@pytest.mark.parametrize("group_by", ["day", "week", "month"])
def test_revenue_by_the_days_of_a_zone_is_the_sum_of_its_entries(account, group_by):
    chance = random.Random(7)
    moments = [NOW - timedelta(minutes=chance.randint(0, 60 * 24 * 40)) for _ in range(400)]
    entries = [ledger.entry(account, str(chance.randint(-500, 900)), occurred_at=moment) for moment in moments]
    add_entries(entries)
    for zone in ZONES:
        query = {"period": "30d", "groupBy": group_by, "timeZone": zone}
        window = USAGE.parse(query, NOW, lambda: None)
        report = revenue_report([account.pk], window, "USD", NOW)
        expected = Counter()
        for entry in entries:
            if window.start <= entry.occurred_at < window.end:
                expected[local_label(entry.occurred_at, zone, group_by)] += entry.amount
        shown = {window.label(bucket): amount for bucket, amount in report.series}
        assert shown == {day: expected[day] for day in shown}, zone
        assert (report.total, len(window.buckets())) == (sum(expected.values()), window.count_buckets()), zone
        before = unconverted_revenue([account.pk], window).by_currency().get("USD", (0, Decimal(0)))[1]
        assert before == sum(e.amount for e in entries if window.before <= e.occurred_at < window.start), zone


@pytest.mark.django_db
@pytest.mark.parametrize("group_by", ["hour", "day", "month"])
def test_usage_by_the_days_of_a_zone_is_the_sum_of_its_decisions(account, group_by):
    chance = random.Random(8)
    moments = [NOW - timedelta(minutes=chance.randint(0, 60 * 24 * 40)) for _ in range(300)]
    item, org = factories.content(account), requester(account, "org")
    record_all([Event(moment, item, org, chance.choice([None, "no_license"])) for moment in moments])
    for zone in ZONES:
        window = USAGE.parse({"period": "30d", "groupBy": group_by, "timeZone": zone}, NOW, lambda: None)
        report = usage_report([account.pk], window)
        inside = [moment for moment in moments if window.start <= moment < window.end]
        expected = Counter(window.label(window.bucket_start(moment)) for moment in inside)
        assert {row["date"]: row["requests"] for row in report["timeSeries"] if row["requests"]} == expected, zone
        assert report["summary"]["totalRequests"] == len(inside), zone
        if group_by != "hour":
            assert expected.keys() == {local_label(moment, zone, group_by) for moment in inside}, zone


@pytest.mark.django_db
def test_a_report_names_days_of_the_zone(api, account, clock):  # noqa: F811
    clock.set("2026-03-04T23:30:00Z")
    add_entries([ledger.entry(account, "5", occurred_at=clock.now)])
    query = "startDate=2026-03-05&endDate=2026-03-05"
    berlin = api.get(f"/v1/analytics/revenue?{query}&timeZone=Europe/Berlin")
    assert (berlin["summary"]["total"], berlin["timeSeries"]) == (5, [{"date": "2026-03-05", "revenue": 5}])
    assert api.get("/v1/analytics/revenue?period=7d")["timeSeries"][-1] == {"date": "2026-03-04", "revenue": 5}
    last = api.get("/v1/analytics/revenue?period=7d&timeZone=Europe/Berlin")["timeSeries"][-1]
    assert last == {"date": "2026-03-05", "revenue": 5}


@pytest.mark.django_db
@pytest.mark.parametrize("report", ["revenue", "usage", "visitors", "crawlers", "pages"])
def test_a_wrong_time_zone_is_named(api, report):
    reply = api.get(f"/v1/analytics/{report}?timeZone=Europe/Berln")
    assert reply.status_and_param == (400, "timeZone")
    assert "Did you mean Europe/Berlin?" in reply.error["message"]
    assert api.get(f"/v1/analytics/{report}?timeZone=Europe/Berlin").status == 200
