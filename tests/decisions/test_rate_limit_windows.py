"""The windows of a rule's rate limit, in UTC."""

from datetime import UTC, datetime, timedelta, timezone

from licensing.policies.rate_limits import limit_window

WINDOWS = {
    "second": ("2026-02-18T13:45:59", "2026-02-18T13:46:00"),
    "minute": ("2026-02-18T13:45:00", "2026-02-18T13:46:00"),
    "hour": ("2026-02-18T13:00:00", "2026-02-18T14:00:00"),
    "day": ("2026-02-18T00:00:00", "2026-02-19T00:00:00"),
    "week": ("2026-02-16T00:00:00", "2026-02-23T00:00:00"),  # from Monday
    "month": ("2026-02-01T00:00:00", "2026-03-01T00:00:00"),
}


def unix(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def test_windows_contain_their_moment_and_adjoin():
    for period, (begin, end) in WINDOWS.items():
        assert limit_window(period, datetime(2026, 2, 18, 13, 45, 59, 999_999, UTC)) == (unix(begin), unix(end))
    for period, times in WINDOWS.items():
        begin, end = map(unix, times)
        assert limit_window(period, datetime.fromtimestamp(begin, UTC)) == (begin, end)
        assert limit_window(period, datetime.fromtimestamp(end, UTC) - timedelta(microseconds=1)) == (begin, end)
        assert limit_window(period, datetime.fromtimestamp(end, UTC))[0] == end
    assert limit_window("month", datetime(2026, 12, 31, 23, 59, tzinfo=UTC)) == (
        unix("2026-12-01T00:00:00"),
        unix("2027-01-01T00:00:00"),
    )
    for period in WINDOWS:
        for moment in [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]:
            begin, end = limit_window(period, moment)
            assert begin <= moment.timestamp() <= end
    moment = datetime(2026, 3, 1, 0, 30, tzinfo=timezone(timedelta(hours=2)))  # still February in UTC
    assert limit_window("month", moment) == tuple(map(unix, WINDOWS["month"]))
