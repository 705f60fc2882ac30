"""Requests at a plan's limit, counted by several workers in replicated servers."""

from collections import Counter
from collections.abc import Iterable

import httpx

from tests.faults.harness import eventually
from tests.faults.traffic import Reply, request

WORKERS, LIMIT = 2, 60
CHECK = {"contentId": "cnt_00000000000000000000000000", "requester": "org_acme"}


def requests_of(key: str, count: int) -> list[bytes]:
    """Return requests that count towards the limit: half run in threads, half on the event loop."""
    pair = [request("GET", "/v1/content", key), request("POST", "/v1/access/check", key, CHECK)]
    return pair * (count // 2)


def how_many_pass(replies: Iterable[Reply]) -> int:
    found = Counter(reply.status for reply in replies)
    assert found.keys() <= {200, 404, 429}
    return found[200] + found[404]


def wait_for_redis(workers: list[httpx.Client]) -> None:
    """Wait until each worker counts in Redis."""

    def where_they_count() -> set[str]:
        return {worker.get("/readyz").json()["checks"]["limits"] for worker in workers}

    assert eventually(lambda: where_they_count() == {"redis"})
