"""A worker process. It stops when its pipe to the parent ends, because the parent closed it or died.

Workers leave signals to the parent: it closes its own listening socket first, so that the last worker to close the
port has taken every connection.
"""

import asyncio
import logging
import signal
import sys
from contextlib import suppress
from socket import socket
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

import django
from django.conf import settings
from django.utils.module_loading import import_string
from uvicorn import Config, Server
from uvicorn.supervisors.multiprocess import Process

from config.server.stopping import StoppingServer
from kit.telemetry.output import log_uncaught_errors

if TYPE_CHECKING:
    from config.background import Background

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 0.1  # for the sign to stop


class WorkerServer(StoppingServer):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Leave a signal to the parent. A second Ctrl-C ends the stop at once, as in uvicorn."""
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True


class Worker(Process):
    """A process that answers requests: `target` and `always_pong` run in the worker, all else in the parent."""

    def __init__(self, config: Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        self.started_at = 0.0
        self.asked_at: float | None = None  # when it was asked for a sign of life that has not come yet

    def target(self, sockets: list[socket] | None = None) -> None:
        self.parent_conn.close()  # this process's copy: the parent's is then the only one
        self._server = self.make_server()
        log_uncaught_errors()
        try:
            super().target(sockets)
        except Exception:  # multiprocessing would print it
            logger.critical("The worker ends, because of an error", exc_info=True)
            sys.exit(1)

    def make_server(self) -> Server:
        settings.SHARED_JOBS = False  # they have a process of their own
        return WorkerServer(self.config)

    def always_pong(self) -> None:
        with suppress(EOFError, OSError):
            super().always_pong()
        logger.info("The parent process stops this worker, or has died.")
        self.server.should_exit = True

    def start(self) -> None:
        super().start()
        self.started_at = monotonic()

    def hangs(self, now: float) -> bool:
        """Whether the worker has not answered for too long. Asks again after each answer, and never waits."""
        try:
            if self.asked_at is None:
                self.parent_conn.send(b"ping")
                self.asked_at = now
            elif self.parent_conn.poll():
                self.parent_conn.recv()
                self.asked_at = None
        except (OSError, EOFError):  # it is about to end
            return False
        return self.asked_at is not None and now - self.asked_at > self.config.timeout_worker_healthcheck

    def terminate(self) -> None:
        self.parent_conn.close()
        self.child_conn.close()


class BackgroundServer(WorkerServer):
    """Answers no requests: it runs the background work until it is stopped."""

    def run(self, sockets: list[socket] | None = None) -> None:
        asyncio.run(self.serve(sockets))

    async def serve(self, sockets: list[socket] | None = None) -> None:
        with self.capture_signals():
            background = load_background()
            background.start()
            self.started = True
            while not self.should_exit:
                await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            await background.stop()


def load_background() -> "Background":
    """Return the background work. Its imports need Django's apps, which this process has not loaded before."""
    django.setup()
    return import_string("config.background.Background")()


class BackgroundWorker(Worker):
    """A process for background work beside those that answer requests."""

    def make_server(self) -> Server:
        return BackgroundServer(self.config)
