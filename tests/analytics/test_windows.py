"""The parameters that both reports share: `period`, `startDate`, `endDate`, `groupBy`."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.windows import GROUPS, USAGE, Window
from kit.http.errors import InvalidRequest

NOW = datetime(2026, 3, 4, 5, 6, 7, 250_000, UTC)  # a Wednesday
moments = st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis wants them naive


def window(first=None, **query):
    return USAGE.parse(query, NOW, lambda: first)


def labels(**query):
    parsed = window(**query)
    return [parsed.label(bucket) for bucket in parsed.buckets()]


def refused(**query):
    with pytest.raises(InvalidRequest) as caught:
        window(**query)
    return caught.value.param


def test_seven_days_are_today_and_the_six_before():
    assert labels(period="7d") == [f"2026-02-{day}" for day in (26, 27, 28)] + [
        f"2026-03-0{day}" for day in (1, 2, 3, 4)
    ]


def test_the_default_is_thirty_days_by_day():
    assert labels() == labels(period="30d", groupBy="day")
    assert len(labels()) == 30


def test_a_year_has_365_days():
    assert len(labels(period="year")) == 365


def test_all_begins_on_the_day_of_the_first_event():
    assert window(NOW - timedelta(days=2), period="all").start == datetime(2026, 3, 2, tzinfo=UTC)


def test_all_is_today_where_nothing_has_happened():
    assert labels(period="all") == ["2026-03-04"]


def test_a_week_is_named_by_its_monday_though_the_window_begins_later():
    assert labels(startDate="2026-03-01", endDate="2026-03-04", groupBy="week") == ["2026-02-23", "2026-03-02"]


def test_a_month_is_named_by_its_first_day():
    assert labels(startDate="2025-12-31", endDate="2026-02-01", groupBy="month") == [
        "2025-12-01",
        "2026-01-01",
        "2026-02-01",
    ]


def test_an_hour_is_named_by_a_timestamp():
    assert labels(startDate="2026-03-01", endDate="2026-03-01", groupBy="hour")[-1] == "2026-03-01T23:00:00.000000Z"


def test_a_bare_end_date_means_all_of_that_day():
    assert window(endDate="2026-03-01").end == datetime(2026, 3, 2, tzinfo=UTC)


def test_a_timestamp_means_its_very_microsecond():
    parsed = window(startDate="2026-03-01T02:00:00+02:00", endDate="2026-03-01T00:00:00.000001Z")
    assert parsed.end - parsed.start == timedelta(microseconds=2)


def test_one_moment_is_a_window():
    assert labels(startDate="2026-03-01T12:30:00Z", endDate="2026-03-01T12:30:00Z") == ["2026-03-01"]


def test_a_start_alone_lasts_until_today():
    assert labels(startDate="2026-03-03") == ["2026-03-03", "2026-03-04"]


def test_an_end_alone_ends_the_period_there():
    assert labels(period="7d", endDate="2026-01-07")[0] == "2026-01-01"


@pytest.mark.parametrize(("query", "param"), [
    ({"startDate": "2026-03-05", "endDate": "2026-03-04"}, "startDate"),
    ({"startDate": "2026-03-04T00:00:00.000001Z", "endDate": "2026-03-04T00:00:00Z"}, "startDate"),
    ({"startDate": "2026-03-05"}, "startDate"), ({"startDate": "yesterday"}, "startDate"),
    ({"startDate": "0001-01-01"}, "startDate"), ({"endDate": "2026-02-30"}, "endDate"),
    ({"endDate": "9999-12-31"}, "endDate"), ({"endDate": "2026-03-04T00:00:00"}, "endDate"),
    ({"period": "1d"}, "period"), ({"period": ""}, "period"), ({"groupBy": "year"}, "groupBy"),
    ({"startDate": "2020-01-01", "groupBy": "hour"}, "groupBy"),
])  # fmt: skip
def test_invalid_windows_are_refused_by_name(query, param):
    assert refused(**query) == param


def test_ten_thousand_buckets_are_the_most():
    end = datetime(2026, 1, 1, tzinfo=UTC)
    start = end - timedelta(days=9_999)
    assert len(labels(startDate=f"{start:%Y-%m-%d}", endDate="2026-01-01")) == 10_000
    assert refused(startDate=f"{start - timedelta(days=1):%Y-%m-%d}", endDate="2026-01-01") == "groupBy"


@given(moments, st.timedeltas(timedelta(microseconds=1), timedelta(days=120)), st.sampled_from(GROUPS), st.data())
def test_every_moment_of_a_window_is_in_exactly_one_of_its_buckets(start, length, group_by, data):
    made = Window(start, start + length, group_by)
    buckets = made.buckets()
    assert made.count_buckets() == len(buckets) == len(set(buckets))
    moment = data.draw(
        st.datetimes(made.start.replace(tzinfo=None), (made.end - timedelta(microseconds=1)).replace(tzinfo=None))
    )
    assert made.bucket_of(moment.replace(tzinfo=UTC)) in buckets
