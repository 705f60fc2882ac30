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

from accounts.events import clock
from accounts.events.clock import Look
from accounts.webhooks import outbox, queue
from accounts.webhooks.queue import ClaimedDelivery, Result
from accounts.webhooks.sending import attempt
from kit.outbound.client import SECONDS, Client
from kit.storage.outage_causes import log_failure
from kit.telemetry.jobs import observed

logger = logging.getLogger(__name__)

MIN_PAUSE = 0.05  # seconds between polls of the outbox; deliveries queued meanwhile share transactions
MAX_PAUSE = 0.8  # longest pause while nothing is due; a wakeup in this process ends it
LOOK_SECONDS = 1  # seconds between runs of periodic work
REST_SECONDS = 2  # pause after a database error
PLACES = 16  # concurrent attempts per endpoint
PLACES_FAILING = 1  # if the last attempt failed
PLACES_IN_ALL = 512
AHEAD = 64  # claimed deliveries per endpoint whose last attempt succeeded
CLAIMED_IN_ALL = 2_048
STOP_SECONDS = 5  # grace period for running attempts at shutdown; others are repeated after their lease ends
T = TypeVar("T")

DELIVERED, FAILED = "delivered", "failed"
outcomes = CountedOutcomes("licensing_webhook_attempts", "Attempts to deliver a webhook, by outcome.", ["outcome"])
for outcome in (DELIVERED, FAILED):  # creates both series with the value 0
    outcomes.labels(outcome)


class Worker:
    """Delivers what is due until `stop`; with `until_idle`, until nothing is due or in progress."""

    def __init__(self, *, until_idle: bool = False) -> None:
        self.until_idle = until_idle
        self.stopping = False
        self.active: Counter[str] = Counter()  # claimed deliveries per endpoint
        self.places: dict[str, asyncio.Semaphore] = {}  # for the endpoints in `active`
        self.places_in_all = asyncio.Semaphore(PLACES_IN_ALL)
        self.answering: set[str] = set()  # endpoints whose last attempt succeeded
        self.failing: set[str] = set()
        self.attempts_made = 0  # number of attempts
        self.patience = MIN_PAUSE
        self.wake: Callable[[], object] = lambda: None
        self.next_looks: dict[Look, float] = {}
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
            await self.look_at_the_clock()
        looking = asyncio.create_task(self.keep_looking())
        try:
            while not self.stopping:
                try:
                    began = await self.step()
                except Exception as error:
                    log_failure(logger, "Webhooks could not be delivered; trying again", error)
                    await asyncio.sleep(REST_SECONDS)
                    continue
                if self.until_idle and not began and not self.tasks and not self.results:
                    return
                await self.pause(busy=began > 0)
        finally:
            outbox.workers.discard(wake)
            self.wake = lambda: None
            looking.cancel()
            await self.finish()

    async def step(self) -> int:
        """Record finished attempts, start as many new ones as there are slots, and return the number started."""
        await self.settle()
        room = self.room()
        most = CLAIMED_IN_ALL - self.active.total()
        claimed = await self.in_database(lambda: queue.claim(room, PLACES, most))
        for delivery in claimed:
            endpoint = delivery.endpoint.pk
            self.active[endpoint] += 1
            self.places.setdefault(endpoint, asyncio.Semaphore(PLACES))
            task = asyncio.create_task(self.deliver(delivery, endpoint, was_failing=endpoint in self.failing))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        return len(claimed)

    async def keep_looking(self) -> None:
        while True:
            await self.look_at_the_clock()
            await asyncio.sleep(LOOK_SECONDS)

    async def look_at_the_clock(self) -> None:
        """Run the periodic work that is due."""
        for look in clock.looks:
            if monotonic() >= self.next_looks.get(look, 0.0):
                self.next_looks[look] = monotonic() + look.every.total_seconds()
                try:
                    with observed(look.task):
                        await in_thread(self.clock_database, look.act)
                except Exception as error:
                    log_failure(
                        logger, f"What time has brought could not be told; trying again in {look.every}", error
                    )

    def room(self) -> dict[str, int]:
        """Return how many more deliveries each known endpoint may claim; unknown ones get PLACES."""
        endpoint_ids = {*self.active, *self.answering, *self.failing}
        return {endpoint_id: self.share(endpoint_id) - self.active[endpoint_id] for endpoint_id in endpoint_ids}

    def share(self, endpoint: str) -> int:
        if endpoint in self.failing:
            return PLACES_FAILING
        return AHEAD if endpoint in self.answering else PLACES

    async def deliver(self, claimed: ClaimedDelivery, endpoint: str, *, was_failing: bool) -> None:
        try:
            async with self.places[endpoint], self.places_in_all:
                # Give it back if the endpoint failed while it waited for a slot, or the lease might end during the
                # attempt.
                has_failed = endpoint in self.failing and not was_failing
                if has_failed or self.stopping or claimed.ends_within(SECONDS):
                    self.unused.append(claimed)
                else:
                    await self.attempt(claimed, endpoint)
        finally:
            self.active[endpoint] -= 1
            if not self.active[endpoint]:
                del self.active[endpoint], self.places[endpoint]
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
        now, before = (self.answering, self.failing) if result.succeeded else (self.failing, self.answering)
        now.add(endpoint)
        before.discard(endpoint)

    async def settle(self) -> None:
        unused, self.unused = self.unused, []
        if unused:
            await self.in_database(lambda: queue.give_back(unused))
        results, self.results = self.results, []
        if results:
            try:
                left = await self.in_database(lambda: queue.settle(results))
                self.results += left
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
                left = await self.in_database(lambda: queue.settle([result]))  # noqa: B023 - run before the next one
                self.results += left
            except Exception:
                logger.exception("What came of delivery %s could not be written", result.claimed.pk)

    async def pause(self, *, busy: bool) -> None:
        """Wait for news, at most until the next poll is due."""
        await asyncio.sleep(MIN_PAUSE)
        self.patience = MIN_PAUSE if busy else min(2 * self.patience, MAX_PAUSE - MIN_PAUSE)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience):
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
