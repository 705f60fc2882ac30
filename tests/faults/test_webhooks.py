"""kill -9 while changes are made and told: each committed change has its event once, and each event arrives.

FAULT_WEBHOOK_KILLS and FAULT_WEBHOOK_CHANGES set how often and how many.
"""

import json
import os
import threading
from collections.abc import Iterator

import httpx
import pytest

from tests.faults.conftest import ON_POSTGRESQL
from tests.faults.harness import Deployment, deployed, eventually
from tests.outbound.receivers import Receiver, receiver
from tests.services import postgres, valkey
from tests.webhooks.delivering import bodies

pytestmark = pytest.mark.faults

KILLS = int(os.environ.get("FAULT_WEBHOOK_KILLS") or 2)
CHANGES = int(os.environ.get("FAULT_WEBHOOK_CHANGES") or 200)
CLIENTS = 4
ARRIVAL_SECONDS = 90  # what a killed worker had under way is sent again when its lease of 30 seconds is over


@pytest.fixture
def service(tmp_path: "os.PathLike[str]") -> Iterator[Deployment]:
    settings = {"WEBHOOKS_ALLOW_PRIVATE": "on"}
    if not ON_POSTGRESQL:
        with deployed(tmp_path, **settings) as deployment:
            yield deployment
        return
    with (
        postgres() as database,
        valkey() as redis,
        deployed(tmp_path, workers=2, postgres=database, valkey=redis, **settings) as deployment,
    ):
        yield deployment


def change_until(service: Deployment, key: str, numbers: Iterator[int], made: list[int], lock: threading.Lock) -> None:
    """Registers items by their numbers; one whose reply is lost is left as it may be."""
    while True:
        with lock:
            number = next(numbers, None)
        if number is None:
            return
        try:
            with service.client(key) as client:
                reply = client.post("/v1/content", json={"externalId": str(number), "title": "x"})
        except httpx.TransportError:
            eventually(service.accepts_connections)
            continue
        assert reply.status_code in (201, 503), reply.text
        made.append(number)


def everything(client: httpx.Client, path: str, **query: str) -> list[dict]:
    rows, page = [], client.get(path, params={"limit": 100, **query}).json()
    while True:
        rows += page["data"]
        if not page["hasMore"]:
            return rows
        page = client.get(path, params={"limit": 100, **query, "cursor": page["nextCursor"]}).json()


def kill_while_changing(service: Deployment, key: str, there: Receiver) -> None:
    made: list[int] = []
    numbers, lock = iter(range(CHANGES)), threading.Lock()
    clients = [threading.Thread(target=change_until, args=(service, key, numbers, made, lock)) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for kill in range(1, KILLS + 1):
        goal = kill * CHANGES // (KILLS + 1)
        assert eventually(lambda goal=goal: len(made) >= goal, 120)
        service.restart()
    for client in clients:
        client.join()


def test_every_committed_change_has_one_event_and_every_event_arrives(service: Deployment) -> None:
    [(key, _)] = service.accounts(1)
    with receiver() as there:
        with service.client(key) as client:
            endpoint = {"url": f"http://127.0.0.1:{there.port}/", "events": ["content.*"]}
            webhook = client.post("/v1/webhooks", json=endpoint).json()["id"]

        kill_while_changing(service, key, there)

        with service.client(key) as client:
            items = {item["id"] for item in everything(client, "/v1/content")}
            events = everything(client, "/v1/events", type="content.created")
            assert len(items) >= CHANGES - KILLS * CLIENTS
            assert sorted(event["data"]["id"] for event in events) == sorted(items)

            known = {event["id"] for event in events}
            arrived = lambda: {body["id"] for body in bodies(there.requests)}  # noqa: E731
            assert eventually(lambda: arrived() == known, ARRIVAL_SECONDS), len(known - arrived())
            sent = {body["id"]: json.dumps(body["data"]) for body in bodies(there.requests)}
            assert sent == {event["id"]: json.dumps(event["data"]) for event in events}
            # What was sent twice was under way when the service was killed: no more than the places of an endpoint.
            twice = len(there.requests) - len(known)
            assert twice <= KILLS * 16 * service.workers

            attempts = lambda: everything(client, f"/v1/webhooks/{webhook}/deliveries")  # noqa: E731
            assert eventually(lambda: {attempt["eventId"] for attempt in attempts()} == known, ARRIVAL_SECONDS)
