"""Background work of a process: its own jobs, and those of all processes while it is the one that runs them.

Of all processes, on all machines, one runs the shared jobs and delivers webhooks: the one that holds a lock. Others
try to take it every few seconds. `manage.py serve` with several workers has a process for this work beside them.
"""

import asyncio
import logging
from threading import Thread

import psycopg
from django.conf import settings
from prometheus_client import Gauge

from accounts.webhooks import worker as webhooks
from config.jobs import JOBS_OF_EACH_PROCESS, LIMIT_EVENTS_JOB, SHARED_JOBS, Job, run_job, run_repeatedly
from kit.storage.exclusive import ExclusiveLock
from kit.storage.outage_causes import outages

logger = logging.getLogger(__name__)

LOCK = 7_202_611_049  # an arbitrary advisory lock number
SECONDS_BETWEEN_ATTEMPTS = 2.0

runs_shared_jobs = Gauge(
    "licensing_shared_jobs",
    "Whether a process here runs the background jobs of all processes: 1 on one machine, 0 on the others.",
    multiprocess_mode="mostrecent",
)


class Background:
    """The background work of this process, on its event loop."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[None]] = []
        self.shared = SharedWork()

    def start(self) -> None:
        self.tasks = start_jobs(JOBS_OF_EACH_PROCESS)
        if settings.SHARED_JOBS:
            runs_shared_jobs.set(0)  # a process that died may have left a 1
            self.tasks.append(asyncio.create_task(self.shared.keep_trying()))

    async def stop(self) -> None:
        """Stop all work. What this process has queued is written first."""
        await cancel_tasks(self.tasks)
        await run_job(LIMIT_EVENTS_JOB)
        await self.shared.stop()


class SharedWork:
    """The work that one process does for all, while this process is that one."""

    def __init__(self) -> None:
        self.lock = ExclusiveLock(LOCK, ".jobs")
        self.tasks: list[asyncio.Task[None]] = []
        self.deliveries: tuple[webhooks.Worker, Thread] | None = None

    async def keep_trying(self) -> None:
        while True:
            await self.try_once()
            await asyncio.sleep(SECONDS_BETWEEN_ATTEMPTS)

    async def try_once(self) -> None:
        """Start the work if the lock is free, and stop it if another process has the lock.

        While the database is away nobody knows. Then the work goes on: two processes may do it at once.
        """
        try:
            is_ours = await asyncio.to_thread(self.lock.take)
        except psycopg.OperationalError as error:
            outages.log(logger, error)
            return
        if is_ours and not self.tasks:
            self.start()
        elif not is_ours and self.tasks:
            await self.stop()

    def start(self) -> None:
        logger.info("This process runs the jobs of all processes.")
        self.tasks = start_jobs(SHARED_JOBS)
        self.deliveries = webhooks.start() if settings.WEBHOOKS_DELIVER else None
        runs_shared_jobs.set(1)

    async def stop(self) -> None:
        runs_shared_jobs.set(0)
        await cancel_tasks(self.tasks)
        self.tasks = []
        if self.deliveries is not None:
            worker, thread = self.deliveries
            worker.stop()
            await asyncio.to_thread(thread.join, 2 * webhooks.STOP_SECONDS)
            self.deliveries = None
        self.lock.release()


def start_jobs(jobs: list[Job]) -> list[asyncio.Task[None]]:
    return [asyncio.create_task(run_repeatedly(job)) for job in jobs]


async def cancel_tasks(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
