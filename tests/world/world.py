"""Shared state of the world: clock, machines, keys, diary."""

import random
import uuid
from typing import Any

from tests.world.caller import Caller, Reply
from tests.world.clock import WorldClock
from tests.world.diary import Diary
from tests.world.machines import Machines


class World:
    def __init__(self, machines: Machines, size: float, share: float) -> None:
        """`size` multiplies each day's requests; `share` is the month's traffic, of a usual one's."""
        self.machines, self.size, self.share = machines, size, share
        self.clock: WorldClock = machines.clock
        self.diary = Diary()
        self.account = ""
        self.keys: dict[str, str] = {}  # "office", "web" and "edge": their texts
        self.key_ids: dict[str, str] = {}
        self.ids: dict[str, str] = {}  # ids of items by externalId, and of policies by name
        self.webhooks: list[dict[str, Any]] = []
        self.operator: dict[str, str] = {}
        self.clients: dict[str, dict[str, str]] = {}  # credentials at the licence server, by requester
        self.found: dict[str, Any] = {}  # what the service said at the end

    @property
    def service(self) -> Any:
        return self.machines.service

    def api(self, key: str = "office") -> Caller:
        """Return an API client with that key, from this machine."""
        return Caller(self.clock, self.service.port, headers={"Authorization": f"Bearer {self.keys[key]}"})

    def send(self, method: str, path: str, body: Any = None) -> Reply:
        """Send a request of the office until it is answered; a POST has an Idempotency-Key."""
        headers = {"Idempotency-Key": uuid.uuid4().hex} if method == "POST" else {}
        return self.api().send_until_answered(method, path, body, headers)

    def act(self, method: str, path: str, body: Any = None, *further: int) -> Reply:
        """Send a request of the office that must succeed: with 200, 201 or one of these further statuses."""
        reply = self.send(method, path, body)
        assert reply.status in (200, 201, *further), (method, path, body, reply.status, reply.content[:2000])
        return reply

    def get(self, path: str, **query: Any) -> Any:
        return self.api().get(path, **query)

    def visitor(self, address: str, **headers: str) -> Caller:
        """Return a visitor of the site with its own address."""
        return Caller(self.clock, self.machines.site_port, address, headers)

    def random(self, who: str, day: int) -> random.Random:
        """Return a random generator with the same values in every run."""
        return random.Random(f"{who} on day {day}")

    def times(self, usual: int) -> int:
        return max(round(usual * self.size), 1)

    def run(self, *command: str) -> tuple[dict[str, Any], Reply]:
        """Run a manage.py command with `--json`; return its output and the time."""
        begun = self.clock.timestamp()
        result = self.service.manage(*command)
        return result, Reply(begun, self.clock.timestamp(), 200)
