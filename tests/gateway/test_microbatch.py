import asyncio
from functools import partial

import pytest

from kit.http.errors import ServiceUnavailable
from kit.storage import microbatch
from kit.storage.microbatch import MANY_WORKS, MicroBatch, MicroBatches
from tests.gateway.batches import Calls, turn

IN_PAIRS = partial(MicroBatch, max_items=2)


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


def test_a_failed_call_fails_its_own_requests_and_no_others() -> None:
    async def scenario() -> list[object]:
        async def call(items):
            if 2 in items:
                raise ValueError("no")
            return items

        batch = MicroBatch(call)
        answers = [batch.submit(1)]
        await turn()
        answers.append(batch.submit(2))
        await turn()
        answers.append(batch.submit(3))
        return await asyncio.gather(*answers, return_exceptions=True)

    first, second, third = asyncio.run(scenario())
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
    batches = MicroBatches(calls, owner_of=lambda number: number % 2, make=IN_PAIRS)
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
    batches = MicroBatches(calls, owner_of=int, make=IN_PAIRS)
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
    notified = batch.answers()
    errors = await asyncio.wait_for(asyncio.gather(*answers, return_exceptions=True), 60)
    assert [str(error) for error in errors] == ["gathering", "gathering"]
    assert notified is not None
    await asyncio.wait_for(notified, 60)
    assert batch.answers() is None
    assert await asyncio.wait_for(batch.submit(3), 60) == 30
