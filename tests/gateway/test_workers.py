import logging
from types import SimpleNamespace
from typing import ClassVar
from unittest.mock import Mock

import pytest
from uvicorn import Config
from uvicorn.config import STARTUP_FAILURE

from config.server import workers
from config.server.workers import MAX_PAUSE, QUICK_SECONDS, Workers, cause_of_death, pause_after
from kit.telemetry.workers import worker_deaths


class StandIn:
    """A worker without a process. It lives until the test sets its exit code."""

    started: ClassVar[list["StandIn"]] = []

    def __init__(self, config: Config, sockets: list[object]) -> None:
        self.exitcode: int | None = None
        self.pid = len(self.started)
        self.process = SimpleNamespace(is_alive=lambda: self.exitcode is None, kill=self.kill, join=lambda: None)
        self.process.exitcode = None
        self.is_silent = self.is_stopped = False

    def start(self) -> None:
        self.started_at = workers.monotonic()
        self.started.append(self)

    def die(self, exit_code: int) -> None:
        self.exitcode = self.process.exitcode = exit_code

    def kill(self) -> None:
        self.die(-9)

    def hangs(self, now: float) -> bool:
        return self.is_silent

    def terminate(self) -> None:
        self.is_stopped = True


class BackgroundStandIn(StandIn):
    pass


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=1_000.0)
    monkeypatch.setattr(workers, "monotonic", lambda: clock.now)
    return clock


@pytest.fixture
def started(monkeypatch) -> list[StandIn]:
    """All workers that were started."""
    StandIn.started.clear()
    monkeypatch.setattr(workers, "Worker", StandIn)
    monkeypatch.setattr(workers, "BackgroundWorker", BackgroundStandIn)
    monkeypatch.setattr(workers.signal, "signal", lambda *_: None)
    return StandIn.started


@pytest.fixture
def parent(started, clock) -> Workers:
    parent = Workers(Config("config.asgi:application", workers=2, log_config=None), [])
    parent.init_processes()
    assert [type(worker) for worker in started] == [BackgroundStandIn, StandIn, StandIn]
    return parent


def test_a_worker_that_dies_is_replaced_at_once(parent, started, caplog):
    before = worker_deaths.values[0]
    started[1].die(-7)
    parent.keep_subprocess_alive()
    assert len(started) == 4
    assert parent.processes == [started[0], started[3], started[2]]
    assert worker_deaths.values[0] == before + 1
    [record] = [record for record in caplog.records if record.name == "config.server.workers"]
    assert record.levelno == logging.WARNING
    assert record.getMessage() == "Worker 1 died: it was ended by SIGBUS. Another one starts now."


def test_a_worker_that_dies_again_and_again_is_replaced_after_ever_longer_pauses(parent, started, clock, caplog):
    pauses = []
    for _ in range(4):
        started[-1].die(1)
        count, died_at = len(started), clock.now
        while len(started) == count:
            parent.keep_subprocess_alive()
            clock.now += 0.5
        pauses.append(started[-1].started_at - died_at)
    assert pauses == [0, 1, 2, 4]
    assert caplog.messages[-1] == "Worker 5 died: it exited with status 1. Another one starts in 4 s."
    assert not started[0].exitcode


def test_a_worker_that_lived_for_a_while_is_replaced_at_once(parent, started, clock):
    for number in range(1, 5):
        clock.now += QUICK_SECONDS
        started[-1].die(-9)
        parent.keep_subprocess_alive()
        assert len(started) == 3 + number


def test_a_worker_that_hangs_is_killed_and_replaced(parent, started, caplog):
    started[2].is_silent = True
    parent.keep_subprocess_alive()
    assert parent.processes == [*started[:2], started[3]]
    assert "it was killed, because it did not answer for" in caplog.text


def test_without_room_for_a_process_the_next_attempt_is_later(parent, started, clock, monkeypatch):
    started[0].die(-9)
    with monkeypatch.context() as full:
        full.setattr(parent, "start_worker", Mock(side_effect=BlockingIOError("Resource temporarily unavailable")))
        parent.keep_subprocess_alive()
    parent.keep_subprocess_alive()
    assert len(started) == 3
    clock.now += MAX_PAUSE
    parent.keep_subprocess_alive()
    assert parent.processes == [started[3], started[1], started[2]]
    assert type(started[3]) is BackgroundStandIn


def test_a_parent_that_fails_lets_its_workers_stop(parent, started, monkeypatch):
    monkeypatch.setattr(parent, "keep_subprocess_alive", Mock(side_effect=RuntimeError("a defect")))
    monkeypatch.setattr(parent.should_exit, "wait", lambda _: False)
    with pytest.raises(RuntimeError):
        parent.run()
    assert started
    assert all(worker.is_stopped for worker in started)


def test_the_service_ends_if_a_worker_cannot_start(parent, started):
    started[0].die(STARTUP_FAILURE)
    parent.keep_subprocess_alive()
    assert parent.failed_to_start
    assert parent.should_exit.is_set()


def test_pauses_have_a_limit():
    assert [pause_after(deaths) for deaths in (0, 1, 7, 100_000)] == [0, 0, MAX_PAUSE, MAX_PAUSE]


@pytest.mark.parametrize(
    ("exit_code", "cause"),
    [
        (0, "it exited with status 0"),
        (-11, "it was ended by SIGSEGV"),
        (-9, "it was ended by SIGKILL (the kernel kills a process so when memory runs out)"),
        (-200, "it was ended by signal 200"),
    ],
)
def test_a_death_has_its_cause_in_words(exit_code: int, cause: str):
    assert cause_of_death(exit_code) == cause
