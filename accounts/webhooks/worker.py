"""The worker that delivers webhooks: an event loop of its own in a thread of its own, away from access checks.

Each endpoint has places of its own, and one that fails has a single one, so that a slow or dead receiver delays nobody
else. No more is claimed than there are places, so memory does not depend on how much waits.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from time import monotonic
from typing import TypeVar

from django.conf import settings
from django.db import OperationalError, close_old_connections, connection
from prometheus_client import Counter as CountedOutcomes

from accounts.events import deadlines
from accounts.webhooks import queue
from accounts.webhooks.queue import Claimed, Result
from accounts.webhooks.sending import attempt
from kit.outbound.client import Client

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.2  # between looks at the outbox while nothing is due
REST_SECONDS = 2  # after the database has failed
PLACES = 16  # attempts at a time to an endpoint whose last one succeeded
PLACES_FAILING = 1
PLACES_IN_ALL = 512
STOP_SECONDS = 5  # that attempts under way get when the service ends; others are made again when their lease is over
T = TypeVar("T")

DELIVERED, FAILED = "delivered", "failed"
outcomes = CountedOutcomes("licensing_webhook_attempts", "Attempts to deliver a webhook, by outcome.", ["outcome"])
for outcome in (DELIVERED, FAILED):  # shown from the beginning, as 0
    outcomes.labels(outcome)


class Worker:
    """Delivers what is due until `stop`. `until_idle`: ends as soon as nothing is due and nothing under way."""

    def __init__(self, *, until_idle: bool = False) -> None:
        self.until_idle = until_idle
        self.stopping = False
        self.active: Counter[str] = Counter()  # attempts under way, by endpoint
        self.failing: set[str] = set()
        self.made = 0  # attempts
        self.next_look = 0.0
        self.results: list[Result] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.database = ThreadPoolExecutor(1, thread_name_prefix="webhook-database")

    def stop(self) -> None:
        """May be called from any thread."""
        self.stopping = True

    async def run(self) -> None:
        self.client = Client(allow_private=settings.WEBHOOKS_ALLOW_PRIVATE)
        try:
            while not self.stopping:
                try:
                    began = await self.step()
                except Exception:
                    logger.exception("Webhooks could not be delivered; trying again")
                    await asyncio.sleep(REST_SECONDS)
                    continue
                if self.until_idle and not began and not self.tasks and not self.results:
                    return
                await self.pause(busy=began > 0)
        finally:
            await self.finish()

    async def step(self) -> int:
        """Writes down what has come back and begins what there are places for; returns how many it began."""
        await self.settle()
        await self.look_at_the_clock()
        room, most = self.room(), PLACES_IN_ALL - self.active.total()
        claimed = await self.in_database(lambda: queue.claim(room, PLACES, most))
        for one in claimed:
            self.active[one.endpoint.pk] += 1
            task = asyncio.create_task(self.deliver(one))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        return len(claimed)

    async def look_at_the_clock(self) -> None:
        """Lets what will end or has ended be told, every few minutes."""
        if monotonic() >= self.next_look:
            self.next_look = monotonic() + deadlines.EVERY.total_seconds()
            await self.in_database(deadlines.tell)

    def room(self) -> dict[str, int]:
        """Free places of the endpoints that are busy or failing; others have PLACES."""
        known = {*self.active, *self.failing}
        return {one: (PLACES_FAILING if one in self.failing else PLACES) - self.active[one] for one in known}

    async def deliver(self, claimed: Claimed) -> None:
        endpoint = claimed.endpoint.pk
        try:
            result = await attempt(claimed, self.client)
        except Exception:
            # Its lease ends and it is tried again.
            logger.exception("The attempt to deliver %s to %s ended early", claimed.event.pk, endpoint)
            self.failing.add(endpoint)
        else:
            self.results.append(result)
            self.made += 1
            outcomes.labels(DELIVERED if result.succeeded else FAILED).inc()
            (self.failing.discard if result.succeeded else self.failing.add)(endpoint)
        finally:
            self.active[endpoint] -= 1
            if not self.active[endpoint]:
                del self.active[endpoint]

    async def settle(self) -> None:
        results, self.results = self.results, []
        if results:
            try:
                await self.in_database(lambda: queue.settle(results))
            except OperationalError:
                self.results = results + self.results
                raise
            except Exception:
                logger.exception("What came of %d attempts could not be written; trying one by one", len(results))
                await self.settle_singly(results)

    async def settle_singly(self, results: list[Result]) -> None:
        """So that one that cannot be written keeps no other from it. Its delivery is attempted again."""
        for result in results:
            try:
                await self.in_database(lambda: queue.settle([result]))  # noqa: B023 - run before the next one
            except Exception:
                logger.exception("What came of delivery %s could not be written", result.claimed.pk)

    async def pause(self, *, busy: bool) -> None:
        """Until an attempt has ended, but no longer than a look at the outbox may wait."""
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        elif not busy:
            await asyncio.sleep(POLL_SECONDS)

    async def finish(self) -> None:
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=STOP_SECONDS)
        for task in self.tasks:
            task.cancel()
        try:
            await self.settle()
        except Exception:
            logger.exception("What came of the last attempts could not be written; they are made again")
        await self.in_database(close_connection)
        self.database.shutdown()

    async def in_database(self, act: Callable[[], T]) -> T:
        def run() -> T:
            try:
                return act()
            finally:
                close_old_connections()

        return await asyncio.get_running_loop().run_in_executor(self.database, run)


def close_connection() -> None:
    """That of the thread which calls it."""
    connection.close()


def start() -> tuple[Worker, Thread]:
    """A worker in a thread of its own."""
    worker = Worker()
    thread = Thread(target=lambda: asyncio.run(worker.run()), name="webhooks", daemon=True)
    thread.start()
    return worker, thread
