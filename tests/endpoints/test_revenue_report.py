from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from analytics.models import ExchangeRate
from tests import factories, ledger

TODAY = date(2026, 3, 4)  # a Wednesday, by the clock


@pytest.fixture(autouse=True)
def _now(clock):
    clock.set("2026-03-04T12:00:00Z")


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def publish(currency, **rates):
    for day, rate in rates.items():
        ExchangeRate.objects.create(currency=currency, day=f"2026-{day[1:3]}-{day[3:]}", rate=rate)


def report(api, **query):
    reply = api.get("/v1/analytics/revenue", **query)
    assert reply.status == 200, reply
    return reply.body


def refused(api, **query):
    reply = api.get("/v1/analytics/revenue", **query)
    return reply.status_and_param


def test_an_account_without_revenue_has_a_report_of_zeros(api, other_account, account):
    ledger.add(other_account, "5")
    body = report(api)
    assert body["summary"] == {"total": 0, "currency": "USD", "changePercent": None, "projectedMonthly": 0}
    assert len(body["timeSeries"]) == 30
    assert body["timeSeries"][0] == {"date": "2026-02-03", "revenue": 0}
    assert body["timeSeries"][-1] == {"date": "2026-03-04", "revenue": 0}
    assert (body["byLicenseType"], body["byRequester"], body["byContent"]) == ({}, [], [])
    assert (body["byCurrency"], body["unconverted"]) == ([], [])
    for query, param in [
        ({"groupBy": "hour"}, "groupBy"), ({"period": "8d"}, "period"), ({"currency": "usd"}, "currency"),
        ({"currency": "XXX"}, "currency"), ({"currency": ""}, "currency"),
        ({"startDate": "2026-03-02", "endDate": "2026-03-01"}, "startDate"), ({"startDate": "1900-01-01"}, "groupBy"),
    ]:  # fmt: skip
        assert refused(api, **query) == (400, param)
    for group, dates in [
        ("day", ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]), ("week", ["2026-02-23", "2026-03-02"]),
        ("month", ["2026-02-01", "2026-03-01"]),
    ]:  # fmt: skip
        body = report(api, startDate="2026-02-27", endDate="2026-03-02", groupBy=group)
        assert [bucket["date"] for bucket in body["timeSeries"]] == dates
    ledger.add(account, "1", currency="CHF", occurred_at=at("2025-01-01"))
    assert report(api, period="7d")["summary"]["total"] == 0


def test_a_report_sums_revenue_by_requester_item_and_licence_type(api, account):
    items = [factories.content(account, title=title) for title in ("First", "Second")]
    acme, zenith = factories.requester(account, requester_id="org_acme", name="Acme"), ledger.requester(account)
    ledger.add(account, "100", license_type="commercial", requester=acme, occurred_at=at("2026-03-01"))
    ledger.add(account, "0.25", license_type="press", requester=zenith, content=items[0])
    ledger.add(account, "0.5", license_type="press", requester=zenith, content=items[1])
    ledger.add(account, "-10.005", occurred_at=at("2026-03-01T23:59:59.999999"))
    ledger.add(account, "80", occurred_at=at("2026-02-20"))  # in the window before
    days = {"02-26": 0, "02-27": 0, "02-28": 0, "03-01": 90, "03-02": 0, "03-03": 0, "03-04": 0.75}
    assert report(api, period="7d") == {
        "summary": {"total": 90.74, "currency": "USD", "changePercent": 13.43, "projectedMonthly": 388.91},
        "timeSeries": [{"date": f"2026-{day}", "revenue": revenue} for day, revenue in days.items()],
        "byLicenseType": {"commercial": 100, "press": 0.75, "other": -10},
        "byRequester": [
            {"id": "org_acme", "name": "Acme", "revenue": 100}, {"id": "org", "name": None, "revenue": 0.75},
        ],
        "byContent": [
            {"id": items[1].pk, "title": "Second", "revenue": 0.5},
            {"id": items[0].pk, "title": "First", "revenue": 0.25},
        ],
        "byCurrency": [{"currency": "USD", "amount": 90.745}],
        "unconverted": [],
    }  # fmt: skip


def test_a_window_includes_both_its_ends(api, account):
    for amount, day in (("1", TODAY), ("10", "2026-02-03"), ("100", "2025-12-05"), ("1000", "2025-03-05")):
        ledger.add(account, amount, occurred_at=at(f"{day}T12:00:00"))
    ledger.add(account, "10000", occurred_at=at("2020-01-01T12:00:00"))
    for query, total in [
        ({"period": "7d"}, 1), ({"period": "30d"}, 11), ({}, 11), ({"period": "90d"}, 111), ({"period": "year"}, 1111),
        ({"period": "all", "groupBy": "month"}, 11111), ({"startDate": "2026-02-03", "endDate": "2026-02-03"}, 10),
        ({"startDate": "2025-01-01", "endDate": "2026-02-02", "groupBy": "week"}, 1100),
        ({"startDate": "2026-02-03T12:00:00Z", "endDate": "2026-03-04"}, 11),
        ({"startDate": "2026-02-03T12:00:00.000001Z", "endDate": "2026-03-04"}, 1),
        ({"startDate": "2026-02-03T00:00:00Z", "endDate": "2026-02-03T12:00:00Z"}, 10),
        ({"startDate": "2026-02-03T00:00:00Z", "endDate": "2026-02-03T11:59:59.999999Z"}, 0),
        ({"startDate": "2026-02-03T13:30:00+01:30"}, 11),
    ]:  # fmt: skip
        body = report(api, **query)
        assert body["summary"]["total"] == sum(bucket["revenue"] for bucket in body["timeSeries"]) == total


def test_each_entry_is_converted_at_the_rate_of_its_own_day(api, account):
    publish("USD", d0302="1.25", d0303="1.6")
    ledger.add(account, "100", currency="EUR", occurred_at=at("2026-03-02"))
    ledger.add(account, "100", currency="EUR", occurred_at=at("2026-03-03"))
    body = report(api, period="7d")
    assert [bucket["revenue"] for bucket in body["timeSeries"][-3:]] == [125, 160, 0]
    assert body["summary"]["total"] == 285


def test_rates_cross_through_the_euro_and_top_lists_are_sorted_after_it(api, account):
    publish("USD", d0304="1.2")
    publish("JPY", d0304="180")
    ledger.add(account, "3000", currency="JPY")
    assert report(api)["summary"]["total"] == 20
    assert report(api, currency="EUR")["summary"]["total"] == 16.67
    assert report(api, currency="JPY")["summary"]["total"] == 3000
    first, second = factories.content(account), factories.content(account)
    ledger.add(account, "150", currency="JPY", content=first)
    ledger.add(account, "1.01", content=second)
    assert [(one["id"], one["revenue"]) for one in report(api)["byContent"]] == [(second.pk, 1.01), (first.pk, 1)]


def test_half_a_cent_is_rounded_to_even_however_many_conversions_add_up_to_it(api, account):
    publish("USD", d0304="1.12")
    for tier, amount in {"press": "2.4", "ai": "0.9", "data": "1.4208"}.items():  # 4.215 EUR
        ledger.add(account, amount, license_type=tier)
    body = report(api, currency="EUR")
    assert (body["summary"]["total"], body["timeSeries"][-1]["revenue"]) == (4.22, 4.22)


def test_on_a_day_without_rates_the_last_one_holds_for_a_week_but_no_later_one(api, account):
    publish("USD", d0220="2", d0304="3")
    ledger.add(account, "1", currency="EUR", occurred_at=at("2026-02-27T23:59:59"))
    assert report(api)["summary"]["total"] == 2
    ledger.add(account, "1", currency="EUR", occurred_at=at("2026-02-28"))
    body = report(api)
    assert body["summary"]["total"] == 2
    assert body["unconverted"] == [{"currency": "EUR", "amount": 1, "entries": 1}]
    assert body["byCurrency"] == [{"currency": "EUR", "amount": 2}]


def test_entries_in_the_reports_own_currency_need_no_rate(api, account):
    ledger.add(account, "1.5", currency="CHF")
    assert report(api, currency="CHF")["summary"]["total"] == 1.5
    assert report(api, currency="CHF")["unconverted"] == []
    assert report(api, currency="EUR")["unconverted"] == [{"currency": "CHF", "amount": 1.5, "entries": 1}]
    assert refused(api, currency="HRK") == (400, "currency")
    publish("HRK", d0304="7.5")
    ledger.add(account, "1", currency="EUR")
    assert report(api, currency="HRK")["summary"]["total"] == 7.5


def test_an_entry_without_a_rate_does_not_hide_the_others(api, account):
    publish("USD", d0304="2")
    priced, unpriced = ledger.requester(account, "org_eur"), ledger.requester(account, "org_jpy")
    item = factories.content(account, title="Sold twice")
    ledger.add(account, "3", currency="EUR", license_type="press", requester=priced, content=item)
    for amount in ("1.5", "-1.5", "7"):
        ledger.add(account, amount, currency="JPY", license_type="data", requester=unpriced, content=item)
    ledger.add(account, "1.5", currency="JPY", occurred_at=at("2026-02-01"))  # in the window before
    for period in ("7d", "year"):
        body = report(api, period=period)
        assert body["summary"]["total"] == 6
        assert sum(bucket["revenue"] for bucket in body["timeSeries"]) == 6
        assert body["byLicenseType"] == {"press": 6}
        assert body["byRequester"] == [{"id": "org_eur", "name": None, "revenue": 6}]
        assert [one["revenue"] for one in body["byContent"]] == [6]
    body = report(api, period="7d", currency="GBP")  # a currency without any rate
    assert (body["summary"]["total"], body["byRequester"]) == (0, [])
    assert body["unconverted"] == [
        {"currency": "EUR", "amount": 3, "entries": 1},
        {"currency": "JPY", "amount": 7, "entries": 3},
    ]
    assert body["byCurrency"] == [{"currency": "EUR", "amount": 3}, {"currency": "JPY", "amount": 7}]
    rows = api.get("/v1/analytics/revenue", period="7d", currency="GBP", format="csv").content.decode()
    assert "unconverted" in rows


def test_a_missing_rate_in_the_window_before_leaves_only_the_change_incomplete(api, account):
    ledger.add(account, "1", currency="CHF", occurred_at=at("2026-02-20"))
    ledger.add(account, "2", currency="USD")
    body = report(api, period="7d")
    assert (body["summary"]["total"], body["summary"]["changePercent"]) == (2, None)
    assert body["unconverted"] == []


def test_figures_are_rounded_to_the_currencys_minor_unit(api, account):
    for currency, total in [("JPY", 2), ("USD", 2.24), ("BHD", 2.235)]:
        for amount in ("1.1175", "1.1175"):
            ledger.add(account, amount, currency=currency)
        assert report(api, currency=currency)["summary"]["total"] == total, currency


def test_a_report_sends_exact_numbers_also_of_deleted_content(api, account):
    ledger.add(account, "999999999999.99")
    ledger.add(account, "999999999999.99")
    assert b'"total":1999999999999.98,' in api.get("/v1/analytics/revenue").content
    item = factories.content(account, title="Gone")
    ledger.add(account, "5", content=item)
    api.delete(f"/v1/content/{item.pk}")
    assert report(api)["byContent"] == [{"id": item.pk, "title": "Gone", "revenue": 5}]


def test_the_lists_have_the_ten_best_equals_by_id(api, account):
    items = sorted(factories.content(account).pk for _ in range(12))
    for n, item in enumerate(items):
        org = ledger.requester(account, f"org_{n:02}")
        ledger.add(account, "9" if n == 11 else "5", content_id=item, requester=org)
    body = report(api)
    assert [one["id"] for one in body["byContent"]] == [items[11], *items[:9]]
    assert [one["id"] for one in body["byRequester"]] == ["org_11", *(f"org_{n:02}" for n in range(9))]
    for period in ("30d", "year", "all"):
        assert [one["id"] for one in report(api, top=10_000, period=period)["byContent"]] == [items[11], *items[:11]]
    assert [one["id"] for one in report(api, top=1)["byRequester"]] == ["org_11"]
    for top in ("0", "10001", "-1", "ten", "1.5", "²", "1" * 5_000):
        reply = api.get("/v1/analytics/revenue", top=top)
        assert (reply.status, reply.error["param"]) == (400, "top"), top


def test_a_month_is_projected_from_the_days_that_have_elapsed(api, account):
    ledger.add(account, "70")
    for query, projected in [
        ({"period": "7d"}, 300), ({"startDate": "2026-03-04", "endDate": "2026-03-31"}, 2100),
        ({"startDate": "2026-03-03T12:00:00Z", "endDate": "2026-03-04T23:59:59.999999Z"}, 1400),
        ({"startDate": "2027-01-01", "endDate": "2027-01-02"}, 0),
    ]:  # fmt: skip
        assert report(api, **query)["summary"]["projectedMonthly"] == projected


@pytest.mark.parametrize(("before", "change"), [("50", 40), ("140", -50), ("-70", 200), ("0.01", 699900)])
def test_the_change_is_against_the_window_just_before(api, account, before, change):
    ledger.add(account, "70")
    ledger.add(account, before, occurred_at=at("2026-02-25T23:59:59"))
    ledger.add(account, "1000", occurred_at=at("2026-02-18T23:59:59"))
    assert report(api, period="7d")["summary"]["changePercent"] == change


def test_a_year_of_entries_takes_as_many_queries_as_a_day(api, account, django_assert_max_num_queries):
    publish("USD", **{f"d{day:%m%d}": "1.1" for day in (TODAY - timedelta(n) for n in range(60))})
    item, org = factories.content(account), ledger.requester(account)
    for n in range(50):
        moment = at(f"{TODAY - timedelta(n)}T12:00:00")
        ledger.add(account, "1", currency="EUR", content=item, requester=org, occurred_at=moment)
    api.get("/v1/analytics/revenue")  # notes the use of the key
    with django_assert_max_num_queries(10):
        body = report(api, startDate="2026-01-02T06:00:00Z", endDate="2026-03-04T18:00:00Z")
    assert body["summary"]["total"] == pytest.approx(float(Decimal("55")))


def test_revenue_without_a_licence_type_is_reported_as_other_unless_a_type_has_that_name(api, account):
    ledger.add(account, "7", license_type=None)
    assert report(api)["byLicenseType"] == {"other": 7}
    ledger.add(account, "5", license_type="other")
    body = report(api)
    assert body["byLicenseType"] == {"": 7, "other": 5}
    assert body["summary"]["total"] == 12
