"""Tasks for requests that wait for little but shared calls (kit.storage.microbatch).

All that wait for the same call go on in one turn of the event loop, one after the other. A task of asyncio takes a
future and a callback for each wait, which is more than most of what a check does between two of them.
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

# Then the loop sends what has been submitted, so that PostgreSQL works on it while the rest is decided: batches that
# came together took turns with it otherwise. Less tears apart the groups of single checks.
MAX_SECONDS_AT_ONCE = 0.002

AT_SHARED_CALL = object()  # what a coroutine yields that waits for one
current: "LightTask | None" = None  # the one that runs at this moment


@coroutine
def what_is_sent(waits_for: object) -> Generator[object, R, R]:
    """Yields what it waits for to whoever runs the coroutine, and returns what that sends."""
    return (yield waits_for)


def moment() -> datetime:
    """This moment; for light tasks that go on together it is the same one."""
    if current is None:
        return timezone.now()
    tasks = current.tasks
    if tasks.moment is None:
        tasks.moment = timezone.now()
    return tasks.moment


class LightTasks:
    """Those of one event loop. `under_way` has them and the tasks that they became until they have ended."""

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
        """Beyond MAX_SECONDS_AT_ONCE the rest go on in the next turn of the loop, before what is ready by then."""
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
    """A coroutine, and the result of a shared call that it waits for.

    What waits for anything else becomes a task of asyncio. Until then there is no current task: `asyncio.timeout`
    comes after a first wait.
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
        """Goes on as a task, which waits for what the coroutine has yielded."""
        self.end()
        under_way = self.tasks.under_way
        task = self.tasks.loop.create_task(resumed(self.work, waits_for), context=self.context)
        under_way.add(task)
        task.add_done_callback(under_way.discard)
        return task

    # --- As a future -------------------------------------------------------------------------------------------------

    def done(self) -> bool:
        return self.has_ended

    def set_result(self, result: object) -> None:
        self.go_on(result, None)

    def set_exception(self, error: BaseException) -> None:
        self.go_on(None, error)

    def go_on(self, result: object, error: BaseException | None) -> None:
        """In the next turn of the loop, together with all others of this one."""
        tasks = self.tasks
        if not tasks.ready:
            tasks.loop.call_soon(tasks.run)
        tasks.ready.append((self, result, error))

    def cancel(self, msg: object = None) -> None:
        self.tasks.loop.call_soon(self.cancel_now, msg)  # whoever cancels all of them goes through `under_way`

    def cancel_now(self, msg: object) -> None:
        if not self.has_ended:
            task = self.become_task(None)
            self.tasks.loop.call_soon(task.cancel, msg)  # once it has begun to wait


async def resumed(work: Coroutine[object, object, None], waits_for: object) -> None:
    """The rest of a coroutine that has yielded `waits_for`."""
    with suppress(StopIteration):
        while True:
            try:
                result: object = await what_is_sent(waits_for)
            except BaseException as error:
                waits_for = work.throw(error)
            else:
                waits_for = work.send(result)
