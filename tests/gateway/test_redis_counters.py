import asyncio
from random import Random

import pytest
from django.conf import settings
from redis import Redis
from redis.asyncio import Redis as AsyncRedis

from accounts.limits.redis_counters import RedisCounters
from accounts.limits.redis_servers import RedisAddress
from accounts.limits.windows import DAY, MINUTE, MOST_AHEAD, Consumed, Hit, ProcessCounters, Window
from tests.limits import forget_limits

pytestmark = pytest.mark.skipif(not settings.REDIS_URL, reason="needs Redis")

NOON = 20_000 * DAY + DAY // 2
WINDOWS = (
    (Window(5, MINUTE), Window(12, DAY)),
    (Window(5, MINUTE), Window(12, DAY), Window(3, MINUTE, "key:a")),
    (Window(4, MINUTE, "public"), Window(6, DAY, "public")),
)


def batches(seed: int) -> list[tuple[list[Hit], int]]:
    """Return what is wanted together, and when. Minutes pass, and sometimes the clock is set back."""
    random, now, made = Random(seed), NOON, []
    for _ in range(60):
        now += random.choice((0, 1, 20, MINUTE, -MINUTE, -MOST_AHEAD - 2 * MINUTE))
        wanted: dict[object, Hit] = {}
        for _ in range(random.randint(1, 6)):
            cost, at = random.randint(0, 4), random.choice((None, None, now + DAY))
            bucket = f"account:{random.choice('abc')}"
            hit = Hit(bucket, random.choice(WINDOWS), cost, is_meter=random.random() < 0.1, at=at)
            wanted.setdefault(hit.group, hit)
        made.append((list(wanted.values()), now))
    return made


@pytest.fixture
def counters() -> RedisCounters:
    assert settings.REDIS_URL
    return RedisCounters(RedisAddress(settings.REDIS_URL))


@pytest.mark.parametrize("seed", range(3))
def test_threads_and_the_event_loop_get_what_one_process_grants(counters: RedisCounters, seed: int) -> None:
    made, alone = batches(seed), ProcessCounters()
    expected = [alone.consume(wanted, now) for wanted, now in made]
    assert [counters.consume(wanted, now) for wanted, now in made] == expected

    async def count() -> list[list[Consumed]]:
        client = counters.address.client()
        counted = [await counters.count(client, wanted, now) for wanted, now in made]
        await client.aclose()
        return counted

    forget_limits()
    assert asyncio.run(count()) == expected
    assert counters.outages.since is None


def test_the_event_loop_replaces_a_connection_that_was_closed_or_stalled(counters: RedisCounters) -> None:
    hit = Hit("account:a", (Window(10, MINUTE),))
    server = Redis.from_url(settings.REDIS_URL)

    async def count() -> list[Consumed]:
        client = counters.address.client()
        assert isinstance(client, AsyncRedis)
        counted = await counters.count(client, [hit], NOON)
        kept = await client.connection_pool.get_connection()
        await client.connection_pool.release(kept)
        server.client_kill_filter(_id=str(await client.client_id()))  # others use the server, too
        while not await kept.can_read():
            await asyncio.sleep(0)  # until the event loop has read that the connection is closed
        counted += await counters.count(client, [hit], NOON)
        assert counters.outages.since is None

        kept.socket_timeout = 0
        counted += await counters.count(client, [hit], NOON)
        kept.socket_timeout = 1
        assert counters.outages.since is not None
        counters.outages.retry_at.clear()
        counted += await counters.count(client, [hit], NOON)
        assert counters.outages.since is None
        await client.aclose()
        return counted

    first, second, here, last = asyncio.run(count())
    assert (first, second, here) == ((1, [0]), (1, [1]), (1, [0]))
    assert last in ((1, [2]), (1, [3]))  # the stalled call may have reached the server
