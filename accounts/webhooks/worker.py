"""The worker that delivers webhooks, with its own event loop in its own thread, separate from access checks.

Each endpoint has its own slots, and only one while it fails, so that a slow or dead receiver delays no one else. For
endpoints that answer, more deliveries are claimed than there are slots, so that the next attempt starts without a
transaction. That number is limited too, so memory does not depend on the length of the queue.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import TypeVar

from django.conf import settings
from django.db import OperationalError, close_old_connections, connection
from django.utils import timezone
from prometheus_client import Counter as CountedOutcomes

from accounts.events import periodic_tasks
from accounts.events.periodic_tasks import PeriodicTask
from accounts.webhooks import outbox, queue
from accounts.webhooks.queue import ClaimedDelivery, Result
from accounts.webhooks.sending import attempt
from kit.outbound.client import TIMEOUT_SECONDS, Client
from kit.storage.outage_causes import log_failure
from kit.telemetry.jobs import observe_job

logger = logging.getLogger(__name__)

MIN_PAUSE = 0.05  # seconds between polls of the outbox; deliveries queued meanwhile share transactions
MAX_PAUSE = 0.8  # longest pause while nothing is due; a wakeup in this process ends it
LOOK_SECONDS = 1  # seconds between runs of periodic work
REST_SECONDS = 2  # pause after a database error
SLOTS = 16  # concurrent attempts per endpoint
SLOTS_WHEN_FAILING = 1  # if the last attempt failed
MAX_SLOTS = 512
CLAIMS_WHEN_ANSWERING = 64  # claimed deliveries per endpoint whose last attempt succeeded
MAX_CLAIMS = 2_048
STOP_SECONDS = 5  # grace period for running attempts at shutdown; others are repeated after their lease ends
T = TypeVar("T")

DELIVERED = "delivered"
FAILED = "failed"
outcomes = CountedOutcomes("licensing_webhook_attempts", "Attempts to deliver a webhook, by outcome.", ["outcome"])
for outcome in (DELIVERED, FAILED):  # creates both series with the value 0
    outcomes.labels(outcome)


class Worker:
    """Delivers what is due until `stop`; with `until_idle`, until nothing is due or in progress."""

    def __init__(self, *, until_idle: bool = False) -> None:
        self.until_idle = until_idle
        self.stopping = False
        self.active: Counter[str] = Counter()  # claimed deliveries per endpoint
        self.slots: dict[str, asyncio.Semaphore] = {}  # for the endpoints in `active`
        self.all_slots = asyncio.Semaphore(MAX_SLOTS)
        self.answering: set[str] = set()  # endpoints whose last attempt succeeded
        self.failing: set[str] = set()
        self.attempts_made = 0  # number of attempts
        self.poll_seconds = MIN_PAUSE
        self.wake: Callable[[], object] = lambda: None
        self.next_runs: dict[PeriodicTask, float] = {}
        self.results: list[Result] = []
        self.unused: list[ClaimedDelivery] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.database = ThreadPoolExecutor(1, thread_name_prefix="webhook-database")
        # some periodic work takes seconds
        self.clock_database = ThreadPoolExecutor(1, thread_name_prefix="webhook-clock")

    def stop(self) -> None:
        """Stop the worker. Thread-safe."""
        self.stopping = True
        self.wake()

    async def run(self) -> None:
        self.client = Client(allow_private=settings.WEBHOOKS_ALLOW_PRIVATE)
        self.news = asyncio.Event()  # set when an attempt ends, something is queued, or the worker must stop
        loop = asyncio.get_running_loop()
        self.wake = wake = lambda: loop.call_soon_threadsafe(self.news.set)
        outbox.workers.add(wake)
        if self.until_idle:
            await self.run_due_tasks()
        periodic = asyncio.create_task(self.keep_running_tasks())
        try:
            while not self.stopping:
                try:
                    started = await self.step()
                except Exception as error:
                    log_failure(logger, "Webhooks could not be delivered; trying again", error)
                    await asyncio.sleep(REST_SECONDS)
                    continue
                if self.until_idle and not started and not self.tasks and not self.results:
                    return
                await self.pause(busy=started > 0)
        finally:
            outbox.workers.discard(wake)
            self.wake = lambda: None
            periodic.cancel()
            await self.finish()

    async def step(self) -> int:
        """Record finished attempts, start as many new ones as there are slots, and return the number started."""
        await self.settle()
        free_slots = self.free_slots()
        max_claims = MAX_CLAIMS - self.active.total()
        claimed = await self.in_database(lambda: queue.claim(free_slots, SLOTS, max_claims))
        for delivery in claimed:
            endpoint = delivery.endpoint.pk
            self.active[endpoint] += 1
            self.slots.setdefault(endpoint, asyncio.Semaphore(SLOTS))
            task = asyncio.create_task(self.deliver(delivery, endpoint, was_failing=endpoint in self.failing))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        return len(claimed)

    async def keep_running_tasks(self) -> None:
        while True:
            await self.run_due_tasks()
            await asyncio.sleep(LOOK_SECONDS)

    async def run_due_tasks(self) -> None:
        """Run the periodic work that is due."""
        for task in periodic_tasks.registered:
            if monotonic() >= self.next_runs.get(task, 0.0):
                self.next_runs[task] = monotonic() + task.interval.total_seconds()
                try:
                    with observe_job(task.name):
                        await in_thread(self.clock_database, task.act)
                except Exception as error:
                    log_failure(
                        logger, f"What time has brought could not be told; trying again in {task.interval}", error
                    )

    def free_slots(self) -> dict[str, int]:
        """Return how many more deliveries each known endpoint may claim; unknown ones get SLOTS."""
        endpoint_ids = {*self.active, *self.answering, *self.failing}
        return {endpoint_id: self.slots_for(endpoint_id) - self.active[endpoint_id] for endpoint_id in endpoint_ids}

    def slots_for(self, endpoint: str) -> int:
        if endpoint in self.failing:
            return SLOTS_WHEN_FAILING
        return CLAIMS_WHEN_ANSWERING if endpoint in self.answering else SLOTS

    async def deliver(self, claimed: ClaimedDelivery, endpoint: str, *, was_failing: bool) -> None:
        try:
            async with self.slots[endpoint], self.all_slots:
                # Give it back if the endpoint failed while it waited for a slot, or the lease might end during the
                # attempt.
                has_failed = endpoint in self.failing and not was_failing
                if has_failed or self.stopping or claimed.ends_within(TIMEOUT_SECONDS):
                    self.unused.append(claimed)
                else:
                    await self.attempt(claimed, endpoint)
        finally:
            self.active[endpoint] -= 1
            if not self.active[endpoint]:
                del self.active[endpoint], self.slots[endpoint]
            self.news.set()

    async def attempt(self, claimed: ClaimedDelivery, endpoint: str) -> None:
        began = timezone.now()
        try:
            result = await attempt(claimed, self.client)
        except Exception:
            logger.exception("The attempt to deliver %s to %s ended early", claimed.event.pk, endpoint)
            # Counts as a failure, so that the retry schedule ends eventually.
            result = Result(claimed, began, 0, error="The service could not make this attempt; its log says why.")
        self.results.append(result)
        self.attempts_made += 1
        outcomes.labels(DELIVERED if result.succeeded else FAILED).inc()
        if result.succeeded:
            self.answering.add(endpoint)
            self.failing.discard(endpoint)
        else:
            self.failing.add(endpoint)
            self.answering.discard(endpoint)

    async def settle(self) -> None:
        unused = self.unused
        self.unused = []
        if unused:
            await self.in_database(lambda: queue.release_claims(unused))
        results = self.results
        self.results = []
        if results:
            try:
                locked_results = await self.in_database(lambda: queue.settle(results))
                self.results += locked_results
            except OperationalError:
                self.results = results + self.results
                raise
            except Exception:
                logger.exception("What came of %d attempts could not be written; trying one by one", len(results))
                await self.settle_singly(results)

    async def settle_singly(self, results: list[Result]) -> None:
        """Record results one by one, so that one failing does not block the others.

        Its delivery is attempted again.
        """
        for result in results:
            try:
                locked_results = await self.in_database(lambda: queue.settle([result]))  # noqa: B023 - run before the next one
                self.results += locked_results
            except Exception:
                logger.exception("What came of delivery %s could not be written", result.claimed.pk)

    async def pause(self, *, busy: bool) -> None:
        """Wait for news, at most until the next poll is due."""
        await asyncio.sleep(MIN_PAUSE)
        self.poll_seconds = MIN_PAUSE if busy else min(2 * self.poll_seconds, MAX_PAUSE - MIN_PAUSE)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.poll_seconds):
                await self.news.wait()
        self.news.clear()

    async def finish(self) -> None:
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=STOP_SECONDS)
        for task in self.tasks:
            task.cancel()
        try:
            await self.settle()
        except Exception:
            logger.exception("What came of the last attempts could not be written; they are made again")
        for thread in (self.database, self.clock_database):
            await in_thread(thread, close_connection)
            thread.shutdown()

    async def in_database(self, act: Callable[[], T]) -> T:
        return await in_thread(self.database, act)


async def in_thread(thread: ThreadPoolExecutor, act: Callable[[], T]) -> T:
    def run() -> T:
        try:
            return act()
        finally:
            close_old_connections()

    return await asyncio.get_running_loop().run_in_executor(thread, run)


def close_connection() -> None:
    """Close the calling thread's database connection."""
    connection.close()


def start() -> tuple[Worker, Thread]:
    """Start a worker in its own thread."""
    worker = Worker()
    thread = Thread(target=lambda: asyncio.run(worker.run()), name="webhooks", daemon=True)
    thread.start()
    return worker, thread
