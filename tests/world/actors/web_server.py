"""The publisher's own application: checks its customers' accesses by API, one by one and in batches."""

import uuid
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.world import publisher
from tests.world.caller import Caller, Reply
from tests.world.diary import Question
from tests.world.world import World

NAMES = ("acme", "globex", "initech", "umbrella", "hooli", "vandelay", "piper", "tanaka")
CUSTOMERS = [f"org_{name}" for name in NAMES]
# What the application asserts about customers unknown to the service.
ASSERTED: list[dict[str, Any]] = [
    {"id": "org_stranger"},
    {"id": "org_wayne", "name": "Wayne", "licenseType": "commercial", "hasValidLicense": True},
    {"id": "org_wayne", "licenseType": "commercial"},
    {"id": "org_hooli", "licenseType": "enterprise", "hasValidLicense": True},
    {"id": "org_acme", "name": "Somebody else", "licenseType": "personal", "hasValidLicense": True},
]
PERMISSIONS = [None, "read", "commercial_use", "ai_input"]


def work(world: World, day: int, requests: int) -> Iterator[Reply]:
    chance, api = world.random("web server", day), world.api("web")
    for _ in range(requests):
        if chance.random() < 0.12:
            yield ask_batch(world, api, chance)
        else:
            yield ask(world, api, chance)
    api.close()


def question(world: World, chance: Random, way: str) -> tuple[Question, dict[str, Any]]:
    """Return a question and its request body. Some items are popular, others rare."""
    number = chance.randrange(publisher.PAGES_ITEMS) if chance.random() < 0.8 else chance.randrange(publisher.ITEMS)
    name = publisher.external_id(number)
    if chance.random() < 0.75:
        requester: Any = chance.choice(CUSTOMERS)
    elif chance.random() < 0.5:
        requester = publisher.subscriber(chance.randrange(publisher.SUBSCRIBERS))
    else:
        requester = chance.choice(ASSERTED)
    body: dict[str, Any] = {"requester": requester}
    asked = Question("web server", way, requester if isinstance(requester, str) else requester["id"], name)
    if isinstance(requester, dict):
        asked.license_type, asked.has_valid_license = requester.get("licenseType"), "hasValidLicense" in requester
        asked.name = requester.get("name")
    source = publisher.item_body(number)["source"]
    selectors = {"contentId": world.ids[name], "externalId": name, "source": f"{source}?utm_campaign=x"}
    selector = chance.choice(list(selectors))
    body[selector] = selectors[selector]
    if permission := chance.choice(PERMISSIONS):
        body["permission"] = asked.permission = permission
    if chance.random() < 0.3:
        asked.ip = chance.choice(["127.0.7.9", "203.0.113.9"])
        body["context"] = {"ip": asked.ip, "userAgent": "Example/1.0"}
    return asked, body


def ask(world: World, api: Caller, chance: Random) -> Reply:
    asked, body = question(world, chance, "check")
    if chance.random() < 0.1:
        body["dryRun"] = True
        reply = api.send("POST", "/v1/access/check", body)
        if reply.status == 200:
            found = (reply.body["id"], reply.body["dryRun"])
            world.diary.promise("the web server", "a dry run has no record", (None, True), found)
        return reply
    if chance.random() < 0.4:  # a retry with the same Idempotency-Key decides nothing again
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        reply = api.send_until_answered("POST", "/v1/access/check", body, headers)
        if chance.random() < 0.2:
            again = api.send_until_answered("POST", "/v1/access/check", body, headers)
            found = (again.status, again.content, again.headers.get("idempotent-replayed"))
            world.diary.promise("the web server", "a retry gets the first reply", (200, reply.content, "true"), found)
    else:
        reply = api.send("POST", "/v1/access/check", body)
    return world.diary.ask(asked, reply)


def ask_batch(world: World, api: Caller, chance: Random) -> Reply:
    """Send up to fifteen checks in one request, of which all or none are recorded."""
    pairs = [question(world, chance, "batch") for _ in range(chance.randint(2, 15))]
    reply = api.send("POST", "/v1/access/check/batch", {"checks": [body for _, body in pairs]})
    answers = reply.body["data"] if reply.status == 200 else pairs
    for (asked, _), answer in zip(pairs, answers, strict=True):
        world.diary.ask(asked, reply, answer)
    return reply
