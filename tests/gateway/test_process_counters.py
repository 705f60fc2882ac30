"""Counters of limits in one process: exact, bounded in memory, and unharmed by a clock that goes back."""

import pytest

from accounts.limits.windows import DAY, MINUTE, MOST_AHEAD, Consume, ProcessCounters, Window

NOON = 20_000 * DAY + DAY // 2
TWO_A_MINUTE = (Window(2, MINUTE), Window(5, DAY))


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> ProcessCounters:
    monkeypatch.setattr(ProcessCounters, "MAX_BUCKETS", 4)
    return ProcessCounters()


def use(counters: ProcessCounters, bucket: str, now: int, cost: int = 1) -> int:
    """Return how much of the cost is granted."""
    [(granted, _)] = counters.consume([Consume(bucket, TWO_A_MINUTE, cost)], now)
    return granted


def test_each_window_limits_and_begins_again(counters: ProcessCounters) -> None:
    assert [use(counters, "account:a", NOON) for _ in range(3)] == [1, 1, 0]
    assert use(counters, "account:a", NOON + MINUTE, 5) == 2
    assert use(counters, "account:a", NOON + 2 * MINUTE, 5) == 1  # the fifth of the day
    assert use(counters, "account:a", NOON + DAY, 5) == 2


def test_buckets_whose_windows_are_over_are_dropped_in_the_next_minute(counters: ProcessCounters) -> None:
    for number in range(3):
        use(counters, f"account:{number}", NOON)
    assert len(counters.buckets) == 6
    use(counters, "account:new", NOON + MINUTE)
    days = {(f"account:{number}", DAY) for number in range(3)}
    assert counters.buckets.keys() == days | {("account:new", MINUTE), ("account:new", DAY)}
    use(counters, "account:new", NOON + DAY)
    assert counters.buckets.keys() == {("account:new", MINUTE), ("account:new", DAY)}


def test_they_are_looked_through_once_a_minute(counters: ProcessCounters, monkeypatch: pytest.MonkeyPatch) -> None:
    tidied: list[int] = []
    tidy = counters.tidy

    def tidy_and_note(now: int) -> None:
        tidied.append(now)
        tidy(now)

    monkeypatch.setattr(counters, "tidy", tidy_and_note)
    for second in (0, 1, 2, 3, 60):
        use(counters, f"account:{second}", NOON + second)
    assert tidied == [NOON + 3, NOON + 60]


def test_far_too_many_addresses_are_forgotten_and_accounts_are_not(counters: ProcessCounters) -> None:
    use(counters, "account:a", NOON, 2)
    for number in range(19):
        use(counters, f"address:10.0.0.{number}", NOON)
    assert len(counters.buckets) == 40
    use(counters, "account:a", NOON + MINUTE)
    assert len(counters.buckets) == 21  # 40 are not too many: only minutes that are over go
    for number in range(21):
        use(counters, f"address:10.0.1.{number}", NOON + MINUTE)
    use(counters, "account:a", NOON + 2 * MINUTE)
    assert {bucket for bucket, _ in counters.buckets} == {"account:a"}
    assert use(counters, "account:a", NOON + 3 * MINUTE, 5) == 1  # the fifth of the day


@pytest.mark.parametrize(("ahead", "granted"), [(MINUTE, 0), (MOST_AHEAD, 0), (MOST_AHEAD + MINUTE, 2)])
def test_a_window_ahead_stays_unless_only_a_changed_clock_explains_it(
    counters: ProcessCounters, ahead: int, granted: int
) -> None:
    assert use(counters, "account:a", NOON + ahead, 2) == 2
    assert use(counters, "account:a", NOON, 2) == granted
