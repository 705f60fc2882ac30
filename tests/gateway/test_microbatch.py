import asyncio
import re
from contextvars import ContextVar
from functools import partial

import pytest

from kit.http.errors import ServiceUnavailable
from kit.storage import light_tasks, microbatch
from kit.storage.light_tasks import LightTasks
from kit.storage.microbatch import MANY_WORKS, MicroBatch, MicroBatches
from tests.source_files import PRODUCT, sources

IN_PAIRS = partial(MicroBatch, max_items=2)
whose: ContextVar[int] = ContextVar("whose")


class Calls:
    """A call that the test releases, with the arguments of each call."""

    def __init__(self) -> None:
        self.given: list[list[int]] = []
        self.ends: list[asyncio.Future[None]] = []

    async def __call__(self, items):
        self.given.append(list(items))
        self.ends.append(asyncio.get_running_loop().create_future())
        await self.ends[-1]
        return [item * 10 for item in items]


async def turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_items_that_arrive_during_a_call_share_the_next_one() -> None:
    calls = Calls()
    batch = MicroBatch(calls)
    answers = [batch.submit(1)]
    await turn()
    answers += [batch.submit(2), batch.submit(3)]
    await turn()
    calls.ends[0].set_result(None)
    await turn()
    calls.ends[1].set_result(None)
    assert await asyncio.gather(*answers) == [10, 20, 30]
    assert calls.given == [[1], [2, 3]]


async def test_no_more_calls_are_under_way_than_allowed() -> None:
    calls = Calls()
    batch = MicroBatch(calls, in_flight=2)
    answers = []
    for number in range(1, 5):
        answers.append(batch.submit(number))
        await turn()
    assert calls.given == [[1], [2]]
    calls.ends[1].set_result(None)
    await turn()
    for end in (calls.ends[0], calls.ends[2]):
        end.set_result(None)
    assert await asyncio.gather(*answers) == [10, 20, 30, 40]
    assert calls.given == [[1], [2], [3, 4]]


async def test_items_that_arrive_at_the_end_of_a_call_are_served() -> None:
    async def call(items):
        return items

    batch = MicroBatch(call, in_flight=2)
    for number in range(200):
        answer = batch.submit(number)
        for _ in range(number % 7):
            await asyncio.sleep(0)
        assert await asyncio.wait_for(answer, 60) == number


async def test_a_failed_call_fails_its_own_requests_and_no_others() -> None:
    async def call(items):
        if 2 in items:
            raise ValueError("no")
        return items

    batch, answers = MicroBatch(call), []
    for number in (1, 2, 3):
        answers.append(batch.submit(number))
        await turn()
    first, second, third = await asyncio.gather(*answers, return_exceptions=True)
    assert (first, type(second), third) == (1, ValueError, 3)


async def test_requests_beyond_the_queue_are_refused() -> None:
    batch = MicroBatch(Calls(), max_waiting=3)
    for number in range(3):
        batch.submit(number)
    with pytest.raises(ServiceUnavailable):
        batch.submit(4)


async def test_items_join_a_call_that_waits_for_more_and_no_call_is_empty() -> None:
    calls, more = Calls(), asyncio.Event()
    batch = MicroBatch(calls, in_flight=2, gather=more.wait)
    answers = [batch.submit(1)]
    await turn()
    more.set()
    await turn()  # the first call is under way
    more.clear()
    answers.append(batch.submit(2))
    await turn()
    answers.append(batch.submit(3))
    calls.ends[0].set_result(None)
    await turn()  # now both of those in flight wait for more
    more.set()
    await turn()
    calls.ends[1].set_result(None)
    assert await asyncio.gather(*answers) == [10, 20, 30]
    assert calls.given == [[1], [2, 3]]


async def test_work_is_done_while_the_call_that_it_came_for_is_under_way() -> None:
    calls, done = Calls(), []
    batch = MicroBatch(calls)
    answers = [batch.submit(number, partial(done.append, number)) for number in range(MANY_WORKS)]
    await turn()
    assert calls.given == [list(range(MANY_WORKS))]
    assert done == list(range(MANY_WORKS))
    assert not [answer for answer in answers if answer.done()]
    calls.ends[0].set_result(None)
    assert await asyncio.gather(*answers) == [number * 10 for number in range(MANY_WORKS)]


async def test_work_that_fails_fails_nothing_else() -> None:
    calls, done = Calls(), []
    batch = MicroBatch(calls)
    answers = [batch.submit(0, lambda: 1 / 0)]
    answers += [batch.submit(number, partial(done.append, number)) for number in range(1, MANY_WORKS)]
    await turn()
    calls.ends[0].set_result(None)
    assert await asyncio.gather(*answers) == [number * 10 for number in range(MANY_WORKS)]
    assert done == list(range(1, MANY_WORKS))


async def test_a_failed_call_fails_all_of_its_items() -> None:
    async def call(_: object) -> list[int]:
        raise ValueError("refused")

    batch: MicroBatch[int, int] = MicroBatch(call)
    answers = [batch.submit(number, lambda: None) for number in range(MANY_WORKS)]
    errors = await asyncio.gather(*answers, return_exceptions=True)
    assert [str(error) for error in errors] == ["refused"] * MANY_WORKS


async def test_owners_do_not_wait_for_each_others_batches() -> None:
    calls = Calls()
    batches = MicroBatches(calls, owner_of=lambda number: number % 2, make_batch=IN_PAIRS)
    odd = [asyncio.ensure_future(batches.result_of(number)) for number in (1, 3, 5)]
    await turn()
    even = asyncio.ensure_future(batches.result_of(2))
    await turn()
    calls.ends[1].set_result(None)
    assert await even == 20
    calls.ends[0].set_result(None)
    await turn()
    calls.ends[2].set_result(None)
    assert await asyncio.gather(*odd) == [10, 30, 50]
    assert calls.given == [[1, 3], [2], [5]]


async def test_only_batches_of_waiting_owners_are_kept_beyond_the_limit(monkeypatch) -> None:
    monkeypatch.setattr(microbatch, "MAX_OWNERS", 2)
    calls = Calls()
    batches = MicroBatches(calls, owner_of=int, make_batch=IN_PAIRS)
    answers = [asyncio.ensure_future(batches.result_of(number)) for number in (1, 2)]
    await turn()
    calls.ends[0].set_result(None)
    await answers[0]
    answers.append(asyncio.ensure_future(batches.result_of(3)))
    await turn()
    for end in calls.ends[1:]:
        end.set_result(None)
    assert await asyncio.gather(*answers) == [10, 20, 30]
    assert set(batches.batches) == {2, 3}


async def test_a_failure_while_a_call_waits_for_more_fails_what_waits_and_nothing_later() -> None:
    failures = [ValueError("gathering"), None]

    async def gather() -> None:
        await asyncio.sleep(0)
        if (failure := failures.pop(0)) is not None:
            raise failure

    async def call(items):
        return [item * 10 for item in items]

    batch = MicroBatch(call, gather=gather)
    answers = [batch.submit(1), batch.submit(2)]
    await asyncio.sleep(0)  # the call waits for more
    notified = batch.next_results()
    errors = await asyncio.wait_for(asyncio.gather(*answers, return_exceptions=True), 60)
    assert [str(error) for error in errors] == ["gathering", "gathering"]
    assert notified is not None
    await asyncio.wait_for(notified, 60)
    assert batch.next_results() is None
    assert await asyncio.wait_for(batch.submit(3), 60) == 30


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


async def test_the_error_of_a_light_task_is_reported_and_the_others_go_on() -> None:
    async def fail() -> None:
        raise KeyError("no")

    async def double(items):
        return [2 * item for item in items]

    tasks, errors = Started(), []
    tasks.loop.set_exception_handler(lambda loop, context: errors.append(context["exception"]))
    tasks.start(fail())
    tasks.start(tasks.share(MicroBatch(double), 1))
    assert await tasks.ended() == [2]
    assert [type(error) for error in errors] == [KeyError]


def test_nothing_uses_wait_for_which_requires_a_task_since_python_3_12():
    assert [path.name for path in sources(*PRODUCT) if re.search(r"\bwait_for\(", path.read_text())] == []
