"""The servers of the benchmarks: PostgreSQL and Valkey, this service, and any other command."""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import httpx
import psycopg

from run import ROOT
from tests.services import Postgres, UnavailableError, Valkey, postgres, unprivileged_child, valkey

START_SECONDS = 60
STOP_SECONDS = 20


class WrongAnswerError(Exception):
    """A side answered incorrectly, so its figures are invalid."""


def expect(ok: bool, what: str) -> None:
    if not ok:
        raise WrongAnswerError(what)


def due_moments(rate: float, ended: Event) -> Iterator[float]:
    """Yield the moments at which requests are due, `rate` a second, each when it has come, until `ended` is set."""
    began = time.perf_counter()
    for number in itertools.count():
        due = began + number / rate
        if ended.wait(max(0, due - time.perf_counter())):
            return
        yield due


class ServerProcess:
    """A server command in its own process group, which runs until stopped."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: dict[str, str],
        ready: str,
        log: Path,
        checkout: Path = ROOT,
    ) -> None:
        self.name, self.command, self.environment, self.ready, self.log = name, command, environment, ready, log
        self.checkout = checkout
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.checkout,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=unprivileged_child(os.getpid(), signal.SIGTERM),  # noqa: PLW1509 - system calls
            )
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                text = self.log.read_text(errors="replace")[-3000:]
                raise UnavailableError(f"{self.name} did not start:\n{text}")
            time.sleep(0.05)

    def is_ready(self) -> bool:
        with suppress(httpx.TransportError):
            return httpx.get(self.ready, timeout=5).status_code == 200
        return False

    def stop(self) -> None:
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def restart(self) -> None:
        self.stop()
        self.start()


@dataclass(frozen=True)
class Services:
    """PostgreSQL with durable commits, and Valkey."""

    postgres: Postgres
    valkey: Valkey

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(server.process.pid for server in (self.postgres, self.valkey) if server.process)

    def database(self, name: str) -> str:
        """Create an empty database and return its URL."""
        with psycopg.connect(self.postgres.url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.postgres.url.removesuffix("postgres") + name


@contextmanager
def services() -> Iterator[Services]:
    with postgres(synchronous_commit="on") as database, valkey() as counters:
        with psycopg.connect(database.url) as connection:
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                row = connection.execute(f"SHOW {setting}").fetchone()
                expect(row == ("on",), f"PostgreSQL runs with {setting} = {row}")
        yield Services(database, counters)


def uvicorn(application: str, port: int) -> list[str]:
    """Return the command of `manage.py serve`'s server for another application."""
    options = ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--no-server-header"]
    options += ["--backlog", "2048", "--lifespan", "off", "--log-level", "warning"]
    return [sys.executable, "-m", "uvicorn", application, "--port", str(port), *options]


@contextmanager
def workplace(*, storage: bool = True) -> Iterator[tuple[ExitStack, Path, Services | None]]:
    """Yield an exit stack, a directory, and optionally PostgreSQL and Valkey."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    random.seed(1)
    with TemporaryDirectory(prefix="benchmark-") as directory, ExitStack() as stack:
        try:
            yield stack, Path(directory), stack.enter_context(services()) if storage else None
        except (UnavailableError, WrongAnswerError) as error:
            sys.exit(f"Nothing is reported: {error}")
