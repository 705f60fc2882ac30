import asyncio

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection
from django.utils import timezone

from accounts.keys.callers import admit
from accounts.limits.limiter import limiter
from kit.storage.microbatch import MicroBatch
from licensing.access.check_values import Check
from licensing.access.event_loop import commits as module
from licensing.access.event_loop.blocking_calls import look_up_account
from licensing.access.event_loop.callers import Sender
from tests import factories
from tests.gateway.wire import settled, until

needs_postgresql = pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time.")


@pytest.fixture
def lookups_may_end():
    return asyncio.Event()


@pytest.fixture
def commits():
    """The number of decisions in each commit."""
    return []


@pytest.fixture
def commits_may_end():
    may_end = asyncio.Event()
    may_end.set()
    return may_end


@pytest.fixture
def gateway(application, commits, lookups_may_end, commits_may_end):
    """A gateway whose look-ups and commits wait for the test's permission."""

    async def look_up(many):
        await lookups_may_end.wait()
        return [await sync_to_async(look_up_account)(one) for one in many]

    async def write(entries):
        commits.append(len(entries))
        await commits_may_end.wait()
        return await record(entries)

    gateway = application.gateway
    gateway.facts.quick_lookups = MicroBatch(look_up)
    record, gateway.commits.write = gateway.commits.write, write
    return gateway


@pytest.fixture
def check(gateway, api, account):
    """Return a function that checks a new item, or one checked before."""
    policy = factories.policy(account, factories.ALLOW_ALL)

    admitted = []

    async def send(item, requester="org_acme"):
        sender = Sender(gateway.callers, api.headers["Authorization"], None)
        await admit(sender)
        admitted.append(sender)
        await once_admitted(item, requester)

    async def once_admitted(item, requester="org_acme"):
        [answer] = await gateway.check(admitted[-1], [Check(("contentId", item.pk), requester)], timezone.now())
        assert answer.decision.allowed

    send.once_admitted = once_admitted
    send.items = [factories.content(account, policy_id=policy.pk) for _ in range(2)]
    return send


async def test_a_check_that_is_looked_up_and_one_that_is_cached_share_a_commit(
    check, commits, lookups_may_end, monkeypatch
):
    monkeypatch.setattr(module, "MAX_SECONDS_TO_GATHER", 60)
    cached, new = check.items
    lookups_may_end.set()
    await check(cached)
    lookups_may_end.clear()
    both = asyncio.gather(check(cached), check(new))
    await settled()
    assert commits == [1]
    lookups_may_end.set()
    await both
    assert commits == [1, 2]


async def test_a_look_up_that_hangs_holds_no_other_check_up(check, commits, lookups_may_end):
    cached, new = check.items
    lookups_may_end.set()
    await check(cached)
    lookups_may_end.clear()
    hanging = asyncio.ensure_future(check(new))
    await asyncio.wait_for(check(cached), timeout=10)
    assert not hanging.done()
    lookups_may_end.set()
    await hanging
    assert commits == [1, 1, 1]


def test_a_look_up_in_a_thread_waits_for_checks_that_are_being_counted(gateway, api, account, monkeypatch):
    monkeypatch.setattr("licensing.access.event_loop.gateway.MAX_SECONDS_TO_GATHER", 60)
    factories.requester(account, requester_id="org_acme")
    policy = factories.policy(account, factories.ALLOW_ALL)
    for name in "ab":
        factories.content(account, policy_id=policy.pk, external_id=name)
    may_be_counted, looked_up, lookups = asyncio.Event(), [], gateway.facts.lookups
    find = lookups.call

    async def count(many):
        await may_be_counted.wait()
        return limiter.consume_many(many)

    async def look_up(many):
        looked_up.append(len(many))
        return await find(many)

    async def check(sender, name):
        [answer] = await gateway.check(sender, [Check(("externalId", name), "org_acme")], timezone.now())
        assert answer.decision.allowed

    async def admit_and_check(sender, name):
        await admit(sender)
        await check(sender, name)

    async def scenario():
        first, second = (Sender(gateway.callers, api.headers["Authorization"], None) for _ in range(2))
        await admit(first)
        gateway.callers.limits = MicroBatch(count)
        both = asyncio.gather(admit_and_check(second, "b"), check(first, "a"))
        await settled()
        assert looked_up == []
        may_be_counted.set()
        await both

    lookups.call = look_up
    async_to_sync(scenario)()
    assert looked_up == [2]


async def test_a_check_that_has_been_counted_waits_for_those_that_are(
    check, commits, gateway, lookups_may_end, monkeypatch
):
    monkeypatch.setattr(module, "MAX_SECONDS_TO_GATHER", 60)
    may_be_counted, [item, _] = asyncio.Event(), check.items

    async def count(many):
        if commits:
            await may_be_counted.wait()
        return limiter.consume_many(many)

    gateway.callers.limits = MicroBatch(count)
    lookups_may_end.set()
    await check(item)
    both = asyncio.gather(check(item), check.once_admitted(item))
    await settled()
    assert commits == [1]
    may_be_counted.set()
    await both
    assert commits == [1, 2]


@pytest.fixture
def begin_commit(check, commits, lookups_may_end, commits_may_end):
    """Return a function that checks a cached item, whose commit the test then ends."""

    async def begin():
        if not commits:
            lookups_may_end.set()
            await check(check.items[0])
            commits_may_end.clear()
        before = len(commits)
        begun = asyncio.ensure_future(check(check.items[0]))
        await until(lambda: len(commits) > before)
        return begun

    return begin


@needs_postgresql
@pytest.mark.parametrize("enough", [module.ENOUGH_TO_COMMIT, 1], ids=["few decisions", "many decisions that hang"])
async def test_a_commit_holds_no_other_up_for_long(begin_commit, commits_may_end, monkeypatch, enough):
    monkeypatch.setattr(module, "ENOUGH_TO_COMMIT", enough)
    begun = [await begin_commit(), await begin_commit()]
    commits_may_end.set()
    await asyncio.gather(*begun)


@needs_postgresql
async def test_decisions_that_arrive_during_a_commit_share_the_next_one(
    begin_commit, check, gateway, commits, commits_may_end, monkeypatch
):
    monkeypatch.setattr(module, "ENOUGH_TO_COMMIT", 1)
    monkeypatch.setattr(module, "MAX_SECONDS_ALONE", 60)
    begun = await begin_commit()
    others = asyncio.gather(check(check.items[0]), check(check.items[0]))
    await until(lambda: len(gateway.commits.records.waiting) == 2)
    assert commits == [1, 1]
    commits_may_end.set()
    await asyncio.gather(begun, others)
    assert commits == [1, 1, 2]


@pytest.fixture
def begin_to_spend(account, check, commits, lookups_may_end, commits_may_end):
    """Return a function that begins a check that a wallet pays, once all facts are cached and commits wait."""
    factories.license(account, "org_prepaid", per_access="1")
    factories.wallet(account, "USD", 100, requester_id="org_prepaid")

    async def begin():
        if not commits:
            lookups_may_end.set()
            await check(check.items[0])
            await check(check.items[0], "org_prepaid")
            commits_may_end.clear()
        return asyncio.ensure_future(check(check.items[0], "org_prepaid"))

    return begin


@needs_postgresql
async def test_checks_that_spend_wait_for_a_commit_that_spends_and_hold_no_others_up(
    begin_to_spend, check, gateway, commits, commits_may_end, monkeypatch
):
    monkeypatch.setattr(module, "MAX_SECONDS_ALONE", 60)
    begun = [await begin_to_spend()]
    await until(lambda: len(commits) == 3)
    begun += [await begin_to_spend(), await begin_to_spend()]
    await until(lambda: len(gateway.commits.spending.waiting) == 2)
    begun.append(asyncio.ensure_future(check(check.items[0])))
    await until(lambda: len(commits) == 4)
    commits_may_end.set()
    await asyncio.gather(*begun)
    assert commits == [1, 1, 1, 1, 2]


@needs_postgresql
async def test_a_commit_that_hangs_at_a_wallet_holds_no_other_up_for_long(begin_to_spend, commits, commits_may_end):
    begun = []
    for number in (3, 4):
        begun.append(await begin_to_spend())
        await until(lambda number=number: len(commits) == number)
    commits_may_end.set()
    await asyncio.gather(*begun)


@needs_postgresql
async def test_clients_of_two_commits_that_spend_share_the_next(
    begin_to_spend, gateway, commits, commits_may_end, monkeypatch
):
    monkeypatch.setattr(module, "SECONDS_TO_ASK_AGAIN", 0.5)
    monkeypatch.setattr(module, "MAX_SECONDS_ALONE", 60)

    async def ask_twice():
        await (await begin_to_spend())
        await (await begin_to_spend())

    first = await begin_to_spend()
    await until(lambda: len(commits) == 3)
    others = asyncio.gather(*(ask_twice() for _ in range(module.SEVERAL)))
    await until(lambda: len(gateway.commits.spending.waiting) == module.SEVERAL)
    commits_may_end.set()
    await first
    await until(lambda: len(commits) == 4)
    late = await begin_to_spend()
    await asyncio.gather(others, late)
    assert commits == [1, 1, 1, module.SEVERAL, module.SEVERAL + 1]
