"""kill -9 during changes and deliveries: each committed change has one event, and each event arrives.

FAULT_WEBHOOK_KILLS and FAULT_WEBHOOK_CHANGES set how many kills and changes.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from accounts.webhooks.worker import CLAIMS_WHEN_ANSWERING, SLOTS
from run import ROOT
from tests.faults.harness import Deployment, eventually, separate
from tests.outbound.receivers import Receiver, receiver
from tests.services import dies_with
from tests.webhooks.delivering import answering, bodies

pytestmark = pytest.mark.faults

KILLS = int(os.environ.get("FAULT_WEBHOOK_KILLS") or 2)
CHANGES = int(os.environ.get("FAULT_WEBHOOK_CHANGES") or 200)
CLIENTS = 4
HASTY = ("-m", "tests.faults.altered_server", "hasty")
ARRIVAL_SECONDS = 90  # deliveries of a killed worker are repeated after its lease


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with separate(tmp_path_factory.mktemp("webhooks"), program=HASTY, WEBHOOKS_ALLOW_PRIVATE="on") as deployment:
        yield deployment


@pytest.fixture
def silent_service(service: Deployment) -> Iterator[Deployment]:
    """A service that delivers no webhooks itself."""
    service.kill()
    service.environment["WEBHOOKS_DELIVER"] = "off"
    service.start()
    yield service
    del service.environment["WEBHOOKS_DELIVER"]
    service.kill()


@contextmanager
def delivering(service: Deployment) -> Iterator[None]:
    """Run a webhook worker process within the block."""
    worker = subprocess.Popen(
        [sys.executable, "manage.py", "deliver_webhooks"],
        cwd=ROOT,
        env=service.environment,
        preexec_fn=dies_with(os.getpid(), signal.SIGKILL),  # noqa: PLW1509 - two system calls
    )
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(60)


def change_until(service: Deployment, key: str, numbers: Iterator[int], made: list[int], lock: threading.Lock) -> None:
    """Register numbered items until the numbers run out."""
    while True:
        with lock:
            number = next(numbers, None)
        if number is None:
            return
        while not is_registered(service, key, number):
            assert eventually(service.accepts_connections)
        made.append(number)


def is_registered(service: Deployment, key: str, number: int) -> bool:
    """Return False if the outcome is unknown; a retry then finds the item."""
    try:
        with service.client(key) as client:
            reply = client.post("/v1/content", json={"externalId": str(number), "title": "x"})
    except httpx.TransportError:
        return False
    assert reply.status_code in (201, 409, 503), reply.text
    return reply.status_code != 503


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
            webhook = client.create("/v1/webhooks", url=f"http://127.0.0.1:{there.port}/", events=["content.*"])

        kill_while_changing(service, key, there)

        with service.client(key) as client:
            items = {item["id"] for item in client.rows("/v1/content")}
            events = client.rows("/v1/events", type="content.created")
            assert len(items) == CHANGES
            assert sorted(event["data"]["id"] for event in events) == sorted(items)

            known = {event["id"] for event in events}
            arrived = lambda: {body["id"] for body in bodies(there.requests)}  # noqa: E731
            assert eventually(lambda: arrived() == known, ARRIVAL_SECONDS), len(known - arrived())
            sent = {body["id"]: json.dumps(body["data"]) for body in bodies(there.requests)}
            assert sent == {event["id"]: json.dumps(event["data"]) for event in events}
            # Events sent twice were in progress or not yet recorded when the service was killed.
            twice = len(there.requests) - len(known)
            assert twice <= KILLS * CLAIMS_WHEN_ANSWERING * service.workers

            attempts = lambda: client.rows(f"/v1/webhooks/{webhook}/deliveries")  # noqa: E731
            assert eventually(lambda: {attempt["eventId"] for attempt in attempts()} == known, ARRIVAL_SECONDS)


def test_two_workers_in_two_processes_attempt_each_delivery_once(silent_service: Deployment) -> None:
    """The receiver answers only once more requests are open than a single worker sends."""
    [(key, _)] = silent_service.accounts(1)
    lock, both = threading.Lock(), threading.Event()
    under_way = 0

    def answer_together(connection: socket.socket, request: bytes) -> None:
        nonlocal under_way
        with lock:
            under_way += 1
            if under_way > SLOTS:
                both.set()
        both.wait(8)  # otherwise only one worker is running; an attempt lasts 15 seconds
        connection.sendall(answering(200))

    with receiver(answer_together) as there, silent_service.client(key) as client:
        webhook = client.create("/v1/webhooks", url=f"http://127.0.0.1:{there.port}/", events=["content.*"])
        items = [{"externalId": str(number), "title": "x"} for number in range(500)]
        assert client.post("/v1/content/bulk", json={"items": items}).status_code == 200
        with delivering(silent_service), delivering(silent_service):
            done = lambda: client.rows(f"/v1/webhooks/{webhook}/deliveries")  # noqa: E731
            assert eventually(lambda: len(done()) >= len(items), 120)
        known = {event["id"] for event in client.rows("/v1/events", type="content.created")}
        assert Counter(body["id"] for body in bodies(there.requests)) == Counter(known)
        assert Counter(attempt["eventId"] for attempt in done()) == Counter(known)
