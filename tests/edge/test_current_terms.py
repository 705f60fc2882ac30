from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Semaphore
from typing import Any

import pytest

from kit.http.errors import ServiceUnavailable
from licensing.edge.publishing import current_terms
from licensing.edge.publishing.current_terms import CurrentTerms
from licensing.edge.publishing.documents import current_terms as terms_in_use
from licensing.edge.publishing.published_terms import Terms
from tests import factories
from tests.edge.documents import RSL, get

SECONDS = 60  # for what happens at once; a failed test ends after this time


class Computing:
    """Computes the terms of sites. A test may hold it at site_a."""

    def __init__(self) -> None:
        self.computed: list[str] = []
        self.begun, self.may_go_on = Event(), Event()
        self.may_go_on.set()

    def __call__(self, site_id: str) -> list[Terms]:
        self.computed.append(site_id)
        self.begun.set()
        assert site_id != "site_a" or self.may_go_on.wait(SECONDS)
        return [Terms(f"/{site_id}/{len(self.computed)}")]


class WatchedEvent(Event):
    """An event that counts who waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waiters = Semaphore(0)

    def wait(self, timeout: float | None = None) -> bool:
        self.waiters.release()
        return super().wait(timeout)


@pytest.fixture
def computing() -> Computing:
    return Computing()


@pytest.fixture
def kept(computing: Computing) -> CurrentTerms:
    return CurrentTerms(computing)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as executor:
        yield executor


@pytest.fixture
def begin(computing: Computing, kept: CurrentTerms, threads: ThreadPoolExecutor) -> Iterator[Any]:
    """Return a function that begins to compute terms in another thread, which goes on after the test's calls."""

    def begin(*arguments: Any) -> Future[list[Terms]]:
        computing.begun.clear()
        computing.may_go_on.clear()
        computation = threads.submit(kept.get, *arguments)
        assert computing.begun.wait(SECONDS)
        return computation

    yield begin
    computing.may_go_on.set()


def test_terms_are_computed_once_for_each_epoch(kept, computing):
    first = kept.get("acc_a", "site_a", 1)
    assert kept.get("acc_a", "site_a", 1) is first
    assert kept.get("acc_a", "site_a", 2) != first
    assert computing.computed == ["site_a", "site_a"]


def test_the_former_terms_are_served_during_a_computation(kept, begin, computing):
    former = kept.get("acc_a", "site_a", 1)
    computation = begin("acc_a", "site_a", 2)
    assert [kept.get("acc_a", "site_a", epoch) for epoch in (2, 2, 3)] == [former] * 3
    computing.may_go_on.set()
    assert computation.result(SECONDS) is kept.get("acc_a", "site_a", 2)
    assert computing.computed == ["site_a", "site_a"]


def test_without_former_terms_two_threads_wait_for_them_and_others_are_refused(
    kept, begin, computing, threads, monkeypatch
):
    monkeypatch.setattr(current_terms, "SECONDS_TO_WAIT", SECONDS)
    computation = begin("acc_a", "site_a", 1)
    kept.running["acc_a"].done = done = WatchedEvent()
    waiting = [threads.submit(kept.get, "acc_a", "site_a", 1) for _ in range(2)]
    for _ in waiting:
        assert done.waiters.acquire(timeout=SECONDS)
    with pytest.raises(ServiceUnavailable):
        kept.get("acc_a", "site_a", 1)
    computing.may_go_on.set()
    assert [one.result(SECONDS) for one in waiting] == [computation.result(SECONDS)] * 2
    assert computing.computed == ["site_a"]


def test_requests_do_not_wait_for_long_or_foreign_computations(kept, begin, monkeypatch):
    begin("acc_a", "site_a", 1)
    monkeypatch.setattr(current_terms, "SECONDS_TO_WAIT", 0)
    with pytest.raises(ServiceUnavailable):
        kept.get("acc_a", "site_b", 1)
    assert kept.get("acc_b", "site_b", 1)


def test_a_failed_computation_is_begun_again(kept, computing):
    def fail(site_id: str) -> list[Terms]:
        raise RuntimeError

    kept.compute = fail
    with pytest.raises(RuntimeError):
        kept.get("acc_a", "site_a", 1)
    kept.compute = computing
    assert kept.get("acc_a", "site_a", 1)


def test_after_a_long_computation_the_terms_stay_for_three_times_its_duration(kept, computing, monkeypatch):
    now = 100.0
    monkeypatch.setattr(current_terms, "QUICK_SECONDS", 0.1)
    monkeypatch.setattr(current_terms, "monotonic", lambda: now)
    monkeypatch.setattr(current_terms, "QUICK_SECONDS", 0.1)

    def take_two_seconds(site_id: str) -> list[Terms]:
        nonlocal now
        now += 2
        return computing(site_id)

    kept.compute = take_two_seconds
    former = kept.get("acc_a", "site_a", 1)
    now += 5.9
    assert kept.get("acc_a", "site_a", 2) is former
    now += 0.2
    assert kept.get("acc_a", "site_a", 2) != former


def test_requests_during_the_first_computation_are_asked_to_retry(account, monkeypatch):
    factories.site(account, {"/*": factories.policy(account)}, host="pub.example")
    monkeypatch.setattr(current_terms, "MAX_WAITING", 0)
    monkeypatch.setitem(terms_in_use.running, account.pk, current_terms.Computation())
    refused = get(RSL)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    del terms_in_use.running[account.pk]
    assert get(RSL).status_code == 200
