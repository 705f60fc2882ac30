import asyncio
import re
from contextvars import ContextVar

from kit.storage import light_tasks
from kit.storage.light_tasks import LightTasks
from kit.storage.microbatch import MicroBatch
from tests.gateway.batches import Calls, turn
from tests.source_files import PRODUCT, sources

whose: ContextVar[int] = ContextVar("whose")


class Started(LightTasks):
    """Light tasks of the running loop, and their results."""

    def __init__(self) -> None:
        super().__init__(asyncio.get_running_loop(), set())
        self.seen: list[object] = []

    async def share(self, batch: MicroBatch[int, int], item: int) -> None:
        try:
            self.seen.append(await batch.result_of(item))
        except (ValueError, asyncio.CancelledError) as error:
            self.seen.append(type(error))

    async def ended(self) -> list[object]:
        """Return the results of all tasks."""
        async with asyncio.timeout(60):
            while self.under_way:
                await asyncio.sleep(0)
        return self.seen


async def test_all_that_wait_for_a_call_go_on_in_one_turn_in_their_order(monkeypatch) -> None:
    monkeypatch.setattr(light_tasks, "MAX_SECONDS_AT_ONCE", 60)
    calls, tasks, turns = Calls(), Started(), []
    batch = MicroBatch(calls)

    async def note_turn() -> None:
        while tasks.under_way:
            await asyncio.sleep(0)
            turns.append(len(tasks.seen))

    for number in range(1, 4):
        tasks.start(tasks.share(batch, number))
    await turn()
    calls.ends[0].set_result(None)
    await note_turn()
    assert await tasks.ended() == [10, 20, 30]
    assert set(turns) == {0, 3}
    assert calls.given == [[1, 2, 3]]


async def test_between_tasks_that_take_long_the_loop_has_its_turn(monkeypatch) -> None:
    monkeypatch.setattr(light_tasks, "MAX_SECONDS_AT_ONCE", 0)
    tasks, loop = Started(), asyncio.get_running_loop()

    async def work(number: int) -> None:
        tasks.seen.append(number)
        loop.call_soon(tasks.seen.append, -number)

    for number in range(1, 4):
        tasks.start(work(number))
    await tasks.ended()
    await turn()
    assert [number for number in tasks.seen if number > 0] == [1, 2, 3]
    assert tasks.seen.index(-1) < tasks.seen.index(3)


async def test_a_failed_call_fails_its_own_light_tasks_and_no_others() -> None:
    async def call(items):
        if 1 in items:
            raise ValueError("no")
        return items

    tasks, batch = Started(), MicroBatch(call)
    tasks.start(tasks.share(batch, 1))
    await turn()
    tasks.start(tasks.share(batch, 2))
    assert await tasks.ended() == [ValueError, 2]


async def test_a_coroutine_that_waits_for_something_else_continues_as_a_task() -> None:
    tasks, batch, other = Started(), MicroBatch(Calls()), asyncio.get_running_loop().create_future()

    async def work() -> None:
        whose.set(1)
        tasks.seen.append(await other)
        async with asyncio.timeout(0):  # which only a task can have
            try:
                await batch.result_of(1)
            except asyncio.CancelledError:
                tasks.seen.append(whose.get())

    tasks.start(work())
    await turn()
    other.set_result("of another")
    assert await tasks.ended() == ["of another", 1]


async def test_an_error_of_what_it_waits_for_reaches_it_as_a_task_too() -> None:
    tasks, other = Started(), asyncio.get_running_loop().create_future()

    async def work() -> None:
        try:
            await other
        except ValueError:
            tasks.seen.append(ValueError)

    tasks.start(work())
    await turn()
    other.set_exception(ValueError("no"))
    assert await tasks.ended() == [ValueError]


async def test_each_has_a_context_of_its_own() -> None:
    calls, tasks = Calls(), Started()
    batch = MicroBatch(calls)

    async def work(number: int) -> None:
        token = whose.set(number)
        await batch.result_of(number)
        tasks.seen.append(whose.get())
        whose.reset(token)

    for number in (1, 2):
        tasks.start(work(number))
    await turn()
    calls.ends[0].set_result(None)
    assert await tasks.ended() == [1, 2]


async def test_one_that_is_cancelled_ends_and_its_call_goes_on_for_the_others() -> None:
    calls, tasks = Calls(), Started()
    batch = MicroBatch(calls)
    first = tasks.start(tasks.share(batch, 1))
    tasks.start(tasks.share(batch, 2))
    await turn()
    first.cancel("the server stops")
    await turn()
    calls.ends[0].set_result(None)
    assert await tasks.ended() == [asyncio.CancelledError, 20]


def test_one_that_fails_is_told_of_and_the_others_go_on() -> None:
    async def scenario() -> list[object]:
        tasks, told = Started(), []
        tasks.loop.set_exception_handler(lambda loop, context: told.append(context["exception"]))

        async def fail() -> None:
            raise KeyError("no")

        tasks.start(fail())
        tasks.start(tasks.share(MicroBatch(call=double), 1))
        await tasks.ended()
        return [*map(type, told), *tasks.seen]

    async def double(items):
        return [2 * item for item in items]

    assert asyncio.run(scenario()) == [KeyError, 2]


def test_nothing_uses_wait_for_which_requires_a_task_since_python_3_12():
    assert [path.name for path in sources(*PRODUCT) if re.search(r"\bwait_for\(", path.read_text())] == []
