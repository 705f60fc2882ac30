import asyncio
from unittest.mock import Mock, call

import pytest
from django.test import override_settings

from accounts.limits import events
from accounts.limits.limiter import Limiter
from accounts.limits.windows import DAY, MINUTE, MOST_AHEAD, Hit, LimitState, ProcessCounters, Window
from tests.clock import Clock

NOON = 20_000 * DAY + DAY // 2
ENDS = {MINUTE: (NOON + MINUTE, MINUTE), DAY: (NOON + DAY // 2, DAY // 2)}
WINDOWS = (Window(10, MINUTE), Window(20, DAY))


def state_of(minute: int, day: int, *, allowed: bool = True) -> LimitState:
    """Return the state after so many requests in the minute and the day."""
    return LimitState.from_counts(WINDOWS, [minute, day], NOON, allowed=allowed)


@pytest.mark.parametrize(
    ("used", "reported"),
    [
        ((1, 1), (10, 9, MINUTE)),
        ((1, 15), (20, 5, DAY)),
        ((5, 15), (10, 5, MINUTE)),  # as much is left of both
        ((10, 20), (20, 0, DAY)),  # both are used up
        ((10, 12), (10, 0, MINUTE)),
        ((0, 21), (20, 0, DAY)),
        ((9, 19), (10, 1, MINUTE)),
    ],
)
def test_the_window_with_the_least_left_is_reported(used: tuple[int, int], reported: tuple[int, int, int]) -> None:
    state = state_of(*used)
    assert (state.limit, state.remaining, state.seconds) == reported
    assert (state.reset, state.seconds_left) == ENDS[state.seconds]


def test_only_refused_requests_get_retry_after() -> None:
    assert state_of(10, 12).retry_after is None
    assert state_of(10, 12, allowed=False).retry_after == MINUTE
    assert state_of(10, 20, allowed=False).retry_after == DAY // 2


@pytest.mark.parametrize(("used", "is_near"), [((7, 7), False), ((8, 8), True), ((0, 15), False), ((0, 16), True)])
def test_a_limit_is_near_from_four_fifths_of_any_window(used: tuple[int, int], is_near: bool) -> None:
    assert state_of(*used).is_near is is_near


@pytest.fixture
def limiter() -> Limiter:
    limiter = Limiter()
    limiter.made = ProcessCounters()
    return limiter


def hit(bucket: str = "account:a", cost: int = 1) -> Hit:
    return Hit(bucket, WINDOWS, cost)


def test_simultaneous_requests_of_a_caller_pass_in_order_until_its_limit(limiter: Limiter) -> None:
    states = limiter.consume_many([hit(cost=8), hit("account:b"), hit(cost=3), hit(cost=2)])
    assert [(state.allowed, state.remaining) for state in states] == [(True, 2), (True, 9), (False, 2), (True, 0)]
    assert limiter.look([hit(), hit("account:b")]) == [[10, 10], [1, 1]]


def test_a_limit_that_is_only_read_is_not_counted(limiter: Limiter) -> None:
    limiter.consume(hit(cost=9))
    assert [limiter.known_here(hit()).remaining for _ in range(3)] == [1, 1, 1]
    assert limiter.look([hit()]) == [[9, 9]]


def test_a_request_without_cost_passes_until_the_limit_is_exceeded(limiter: Limiter) -> None:
    limiter.consume(hit(cost=10))
    assert limiter.consume(hit(cost=0)).allowed
    limiter.consume(Hit("account:a", WINDOWS, 1, is_meter=True))
    assert not limiter.consume(hit(cost=0)).allowed


def test_a_look_at_a_limit_that_others_have_used_announces_nothing(limiter: Limiter, clock: Clock) -> None:
    limiter.counters.consume([hit(cost=9)], int(clock.timestamp()))
    waiting = len(events.waiting)
    assert limiter.consume(hit(cost=0)).is_near
    assert len(events.waiting) == waiting


def test_without_redis_threads_and_the_event_loop_count_in_this_process(limiter: Limiter, clock: Clock) -> None:
    with override_settings(REDIS_URL="redis://127.0.0.1:9/0"):
        on_loop = limiter.for_event_loop()
    [state] = asyncio.run(on_loop([hit(cost=4)]))
    assert (state.remaining, limiter.state()) == (6, "this process")
    assert limiter.consume(hit(cost=4)).remaining == 2


TWO_A_MINUTE = (Window(2, MINUTE), Window(5, DAY))


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> ProcessCounters:
    monkeypatch.setattr(ProcessCounters, "MAX_BUCKETS", 4)
    return ProcessCounters()


def use(counters: ProcessCounters, bucket: str, now: int, cost: int = 1) -> int:
    """Return how much of the cost is granted."""
    [(granted, _)] = counters.consume([Hit(bucket, TWO_A_MINUTE, cost)], now)
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
    monkeypatch.setattr(counters, "tidy", Mock(wraps=counters.tidy))
    for second in (0, 1, 2, 3, 60):
        use(counters, f"account:{second}", NOON + second)
    assert counters.tidy.call_args_list == [call(NOON + 3), call(NOON + 60)]


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
def test_a_window_ahead_stays_unless_only_a_changed_clock_explains_it(counters, ahead, granted):
    assert use(counters, "account:a", NOON + ahead, 2) == 2
    assert use(counters, "account:a", NOON, 2) == granted
