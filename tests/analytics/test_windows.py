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


def test_periods_begin_with_whole_days_and_end_today():
    assert labels(period="7d") == [f"2026-02-{day}" for day in (26, 27, 28)] + [
        f"2026-03-0{day}" for day in (1, 2, 3, 4)
    ]
    assert labels() == labels(period="30d", groupBy="day")
    assert len(labels()) == 30
    assert len(labels(period="year")) == 365
    assert window(NOW - timedelta(days=2), period="all").start == datetime(2026, 3, 2, tzinfo=UTC)
    assert labels(period="all") == ["2026-03-04"]


def test_buckets_are_named_by_their_first_moment():
    assert labels(startDate="2026-03-01", endDate="2026-03-04", groupBy="week") == ["2026-02-23", "2026-03-02"]
    assert labels(startDate="2025-12-31", endDate="2026-02-01", groupBy="month") == [
        "2025-12-01",
        "2026-01-01",
        "2026-02-01",
    ]
    assert labels(startDate="2026-03-01", endDate="2026-03-01", groupBy="hour")[-1] == "2026-03-01T23:00:00.000000Z"


def test_dates_and_timestamps_bound_a_window():
    assert window(endDate="2026-03-01").end == datetime(2026, 3, 2, tzinfo=UTC)
    parsed = window(startDate="2026-03-01T02:00:00+02:00", endDate="2026-03-01T00:00:00.000001Z")
    assert parsed.end - parsed.start == timedelta(microseconds=2)
    assert labels(startDate="2026-03-01T12:30:00Z", endDate="2026-03-01T12:30:00Z") == ["2026-03-01"]
    assert labels(startDate="2026-03-03") == ["2026-03-03", "2026-03-04"]
    assert labels(period="7d", endDate="2026-01-07")[0] == "2026-01-01"


def test_invalid_windows_are_refused_by_name():
    for query, param in [
        ({"startDate": "2026-03-05", "endDate": "2026-03-04"}, "startDate"),
        ({"startDate": "2026-03-05"}, "startDate"),
        ({"startDate": "2026-03-04T00:00:00.000001Z", "endDate": "2026-03-04T00:00:00Z"}, "startDate"),
        ({"startDate": "yesterday"}, "startDate"), ({"startDate": "0001-01-01"}, "startDate"),
        ({"endDate": "2026-02-30"}, "endDate"), ({"endDate": "9999-12-31"}, "endDate"),
        ({"endDate": "2026-03-04T00:00:00"}, "endDate"), ({"period": "1d"}, "period"), ({"period": ""}, "period"),
        ({"groupBy": "year"}, "groupBy"), ({"startDate": "2020-01-01", "groupBy": "hour"}, "groupBy"),
    ]:  # fmt: skip
        assert refused(**query) == param
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
    assert made.bucket_start(moment.replace(tzinfo=UTC)) in buckets
