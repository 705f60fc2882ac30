"""Lightweight coroutines: requests that only await micro-batched calls (kit.storage.microbatch) run without an asyncio
task each.

All requests that wait for the same call resume in one iteration of the event loop. An asyncio task needs a future and
a callback per wait, which cost more than most of what a check does between two waits.
"""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import suppress
from contextvars import copy_context
from datetime import datetime
from time import perf_counter
from types import coroutine
from typing import TypeVar, cast

from django.utils import timezone

R = TypeVar("R")

# After this time the loop sends what was submitted, so that PostgreSQL works while the remaining requests are decided.
# A lower value would split the batches of single checks.
MAX_SECONDS_AT_ONCE = 0.002

AT_SHARED_CALL = object()  # yielded by a coroutine that waits for a shared call
current: "LightTask | None" = None  # the task that is running


@coroutine
def suspend(waits_for: object) -> Generator[object, R, R]:
    """Suspend the coroutine; its runner learns what it waits for, and sends the result."""
    return (yield waits_for)


def moment() -> datetime:
    """Return the current time; the same value for all light tasks that resume together."""
    if current is None:
        return timezone.now()
    tasks = current.tasks
    if tasks.moment is None:
        tasks.moment = timezone.now()
    return tasks.moment


class LightTasks:
    """The light tasks of one event loop. `under_way` holds them, and asyncio tasks made from them, until they end."""

    def __init__(self, loop: asyncio.AbstractEventLoop, under_way: "set[asyncio.Task[None]]") -> None:
        self.loop = loop
        self.under_way = cast("set[LightTask | asyncio.Task[None]]", under_way)
        self.ready: list[tuple[LightTask, object, BaseException | None]] = []
        self.moment: datetime | None = None

    def start(self, work: Coroutine[object, object, None]) -> "LightTask":
        task = LightTask(self, work)
        self.under_way.add(task)
        task.set_result(None)
        return task

    def run(self) -> None:
        """Resume the ready tasks.

        After MAX_SECONDS_AT_ONCE the rest continue in the next iteration, ahead of newer ones.
        """
        ready, self.ready, self.moment = self.ready, [], None
        until = perf_counter() + MAX_SECONDS_AT_ONCE
        for place, (task, result, error) in enumerate(ready, 1):
            if not task.has_ended:
                task.step(result, error)
            if place < len(ready) and perf_counter() > until:
                if not self.ready:
                    self.loop.call_soon(self.run)
                self.ready = [*ready[place:], *self.ready]
                return


class LightTask:
    """A coroutine, with the result of the shared call that it awaits.

    If it awaits anything else, it becomes an asyncio task. Until then there is no current task, so use
    `asyncio.timeout` only after a first wait, and `asyncio.wait` in place of `asyncio.wait_for`.
    """

    __slots__ = ("context", "has_ended", "tasks", "work")

    def __init__(self, tasks: LightTasks, work: Coroutine[object, object, None]) -> None:
        self.tasks, self.work, self.context = tasks, work, copy_context()
        self.has_ended = False

    def step(self, result: object, error: BaseException | None) -> None:
        global current  # noqa: PLW0603 - as asyncio's own
        current = self
        try:
            if error is None:
                waits_for = self.context.run(self.work.send, result)
            else:
                waits_for = self.context.run(self.work.throw, error)
        except StopIteration:
            self.end()
        except Exception as failure:
            self.end()
            self.tasks.loop.call_exception_handler({"message": "A light task has failed", "exception": failure})
        else:
            if waits_for is not AT_SHARED_CALL:
                self.become_task(waits_for)
        finally:
            current = None

    def end(self) -> None:
        self.has_ended = True
        self.tasks.under_way.discard(self)

    def become_task(self, waits_for: object) -> "asyncio.Task[None]":
        """Continue as an asyncio task that waits for what the coroutine yielded."""
        self.end()
        under_way = self.tasks.under_way
        task = self.tasks.loop.create_task(resume(self.work, waits_for), context=self.context)
        under_way.add(task)
        task.add_done_callback(under_way.discard)
        return task

    # --- As a future -------------------------------------------------------------------------------------------------

    def done(self) -> bool:
        return self.has_ended

    def set_result(self, result: object, error: BaseException | None = None) -> None:
        """Resume in the next iteration of the loop, together with all others that became ready in this one."""
        tasks = self.tasks
        if not tasks.ready:
            tasks.loop.call_soon(tasks.run)
        tasks.ready.append((self, result, error))

    def set_exception(self, error: BaseException) -> None:
        self.set_result(None, error)

    def cancel(self, msg: object = None) -> None:
        self.tasks.loop.call_soon(self.cancel_now, msg)  # shutdown cancels all of them through `under_way`

    def cancel_now(self, msg: object) -> None:
        if not self.has_ended:
            task = self.become_task(None)
            self.tasks.loop.call_soon(task.cancel, msg)  # once the task waits


async def resume(work: Coroutine[object, object, None], waits_for: object) -> None:
    """Resume a coroutine that is waiting for `waits_for`, and run it to its end."""
    with suppress(StopIteration):
        while True:
            try:
                result: object = await suspend(waits_for)
            except BaseException as error:
                waits_for = work.throw(error)
            else:
                waits_for = work.send(result)


def run_blocking(coroutine: Coroutine[object, object, R]) -> R:
    """Run a coroutine that never suspends, and return its result. For steps that block in a thread."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: R = done.value
        return result
    coroutine.close()
    raise AssertionError("a blocking step waited for the event loop")
