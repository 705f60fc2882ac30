"""The parent of the worker processes: it starts them, replaces those that die, and stops them.

One of them does the background work; the others answer requests.
"""

import logging
import signal
from socket import socket
from time import monotonic

from uvicorn import Config
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess, multiprocess

from config.server.worker import BackgroundWorker, Worker
from kit.telemetry.workers import worker_deaths

logger = logging.getLogger(__name__)

QUICK_SECONDS = 60.0  # a worker that dies sooner is started again after a pause
MAX_PAUSE = 30.0


class Workers(Multiprocess):
    """The parent of the worker processes."""

    processes: list[Worker]  # type: ignore[assignment]

    def __init__(self, config: Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        vars(multiprocess)["Process"] = Worker  # Multiprocess has no parameter for it
        self.restarts: dict[Worker, float] = {}  # dead workers, with the time at which each is replaced
        self.quick_deaths = 0  # in succession
        self.failed_to_start = False
        worker_deaths.allocate()  # in the directory of metrics, which this run has made after the import

    def init_processes(self) -> None:
        """Start the processes. The one for background work is the first: SIGTTOU stops the last."""
        self.processes.append(self.start_worker(BackgroundWorker))
        for _ in range(self.processes_num):
            self.processes.append(self.start_worker(Worker))

    def start_worker(self, kind: type[Worker]) -> Worker:
        worker = kind(self.config, [] if kind is BackgroundWorker else self.sockets)
        worker.start()
        return worker

    def restart_all(self) -> None:
        background = self.processes.pop(0)
        super().restart_all()
        background.terminate()
        background.join()
        self.processes.insert(0, self.start_worker(BackgroundWorker))

    def run(self) -> None:
        try:
            super().run()
        finally:
            self.terminate_all()  # also if this process fails: at its end it waits for the workers

    def keep_subprocess_alive(self) -> None:
        now = monotonic()
        for index, worker in enumerate(self.processes):
            if worker not in self.restarts:
                self.watch(worker, now)
            if self.should_exit.is_set():
                return
            if worker in self.restarts and now >= self.restarts[worker]:
                self.replace(index, now)

    def replace(self, index: int, now: float) -> None:
        """Start another worker in place of the dead one; later, if there is no room for a process."""
        dead_process = self.processes[index]
        try:
            self.processes[index] = self.start_worker(type(dead_process))
        except OSError as error:
            logger.warning("No worker can be started: %s. The next attempt is in %g s.", error, MAX_PAUSE)
            self.restarts[dead_process] = now + MAX_PAUSE
        else:
            del self.restarts[dead_process]

    def watch(self, worker: Worker, now: float) -> None:
        """Note the death of the worker; kill it first if it hangs."""
        if not worker.process.is_alive():
            self.note_death(worker, now, cause_of_death(worker.process.exitcode))
        elif worker.hangs(now):
            worker.process.kill()
            worker.process.join()
            seconds = self.config.timeout_worker_healthcheck
            self.note_death(worker, now, f"it was killed, because it did not answer for {seconds} seconds")

    def note_death(self, worker: Worker, now: float, cause: str) -> None:
        """Log and count a dead worker, and decide when to replace it."""
        worker.terminate()  # closes its pipe
        if worker.exitcode == STARTUP_FAILURE:  # as would the next one
            logger.error("Worker %d failed to start; the service stops.", worker.pid)
            self.failed_to_start = True
            self.should_exit.set()
            return
        worker_deaths.add(0)
        self.quick_deaths = self.quick_deaths + 1 if now - worker.started_at < QUICK_SECONDS else 0
        pause = pause_after(self.quick_deaths)
        self.restarts[worker] = now + pause
        when = f"in {pause:g} s" if pause else "now"
        logger.warning("Worker %d died: %s. Another one starts %s.", worker.pid, cause, when)

    def terminate_all(self) -> None:
        for each in self.sockets:
            each.close()
        super().terminate_all()


def pause_after(quick_deaths: int) -> float:
    """Return the seconds to wait before the next start: none at first, then 1, 2, 4 and so on."""
    if quick_deaths < 2:
        return 0.0
    doublings = min(quick_deaths - 2, 10)  # MAX_PAUSE is reached sooner
    return min(2.0**doublings, MAX_PAUSE)


def cause_of_death(exit_code: int | None) -> str:
    """Return what ended a process, in words: a signal by its name, or its exit status."""
    if exit_code is None or exit_code >= 0:
        return f"it exited with status {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    hint = " (the kernel kills a process so when memory runs out)" if name == "SIGKILL" else ""
    return f"it was ended by {name}{hint}"
