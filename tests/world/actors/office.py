"""The publisher's office: makes changes by API during traffic."""

import time
from datetime import timedelta
from typing import Any

from tests.world import publisher
from tests.world.actors import catalogue, readers, sales
from tests.world.caller import Caller
from tests.world.world import World

PROXY_SECONDS = 2
STALLED_PAGE = publisher.Page("/premium/story-4")
TOGGLED = {True: [publisher.READERS], False: [publisher.LICENSED, publisher.NOBODY]}


def toggle_policy(world: World, open_to_all: bool) -> None:
    """Open or close the daily changing policy during traffic."""
    change_policy(world, "changing", rules=TOGGLED[open_to_all])


def change_policy(world: World, name: str, **fields: Any) -> None:
    known = world.diary.policies[name]
    if any(known.latest.get(field) != value for field, value in fields.items()):
        reply = world.api().send_until_answered("PATCH", f"/v1/policies/{world.ids[name]}", fields)
        assert reply.status == 200, reply.content
        known.write(reply, version=known.latest["version"] + 1, **fields)
        world.diary.deed("policy.updated", world.ids[name], reply)


def roll_back_policy(world: World, name: str, version: int) -> None:
    known = world.diary.policies[name]
    [former] = [change.state for change in known.changes if change.state["version"] == version]
    path = f"/v1/policies/{world.ids[name]}/rollback"
    reply = world.api().send_until_answered("POST", path, {"version": version}, sales.idempotent())
    assert reply.status == 200, reply.content
    known.write(reply, **{**former, "version": known.latest["version"] + 1})
    world.diary.deed("policy.rolled_back", world.ids[name], reply)


def publish(world: World, day: int) -> None:
    """Do the content system's daily work: create and change items, and archive, restore and delete one each."""
    chance, api = world.random("content system", day), world.api()
    new = [
        {"externalId": f"new-{day}-{n}", "title": f"News of day {day}", "policy": "open", "tags": ["news"]}
        for n in range(3)
    ]
    changed: list[dict[str, Any]] = []
    for number in chance.sample(range(100, publisher.ITEMS), 12):
        policy = chance.choice(publisher.OF_ITEMS)
        changed.append(
            {"externalId": publisher.external_id(number), "policy": policy, "tags": [chance.choice(publisher.TAGS)]}
        )
    catalogue.upsert(world, api, new + changed)
    catalogue.change(world, api, publisher.external_id(20 + day % 7), status="archived")
    if day:
        catalogue.change(world, api, publisher.external_id(20 + (day - 1) % 7), status="active")
        catalogue.delete(world, api, f"new-{day - 1}-0")


def rotate_key(world: World) -> None:
    """Rotate the application's key; both keys work for a day."""
    api, old = world.api(), world.keys["web"]
    path = f"/v1/api-keys/{world.key_ids['web']}/rotate"
    reply = api.send_until_answered("POST", path, {"overlapSeconds": 86_400}, sales.idempotent())
    assert reply.status == 201, reply.content
    world.diary.deed("api_key.rotated", world.key_ids["web"], reply)
    world.keys["old web"], world.keys["web"], world.key_ids["web"] = old, reply.body["key"], reply.body["id"]
    world.diary.deed("api_key.created", reply.body["id"], reply)
    expect_old_key(world, 200, "the old key works for the overlap")


def expect_old_key(world: World, status: int, sentence: str) -> None:
    reply = world.api("old web").send_until_answered("GET", "/v1/content?limit=1")
    world.diary.promise("the web server", sentence, status, reply.status)


def kill_service(world: World) -> None:
    """Kill all service processes with SIGKILL, and restart."""
    begun = world.clock.timestamp()
    world.service.kill()
    time.sleep(0.3)
    world.diary.kills.append((begun, world.clock.timestamp()))  # the service answers before `start` returns
    world.service.start()


def stall_service(world: World) -> None:
    """Stop the service until the proxy has given up on a reader, whose decision then comes late."""
    reader = world.visitor("127.0.1.40", **{"User-Agent": readers.BROWSER})
    with world.service.stopped():
        readers.visit(world, reader, STALLED_PAGE, world.random("reader of a stalled service", 0))
    reader.close()


def raise_price_per_access(world: World, api: Caller, license_id: str) -> None:
    sales.change(world, api, license_id, pricePerAccess=("0.065", "USD"))


def raise_price(world: World, api: Caller, license_id: str) -> None:
    sales.change(world, api, license_id, price=("25", "JPY"))


def book_by_hand(world: World) -> None:
    """Record an outside sale, one that belongs to last month, and a correction."""
    api, now = world.api(), world.clock.now()
    sales.adjust(world, api, "19.99", "USD", description="Sold at the fair")
    back = (now - timedelta(days=20)).isoformat()
    sales.adjust(world, api, "-2.500001", "EUR", requesterId="org_acme", occurredAt=back, description="Discount")
    sales.adjust(world, api, "1500", "JPY", requesterId="org_globex", description="Setup")


def renew(world: World, api: Caller, requester: str) -> None:
    ends = (world.clock.now() + timedelta(days=365)).isoformat()
    sales.issue(world, api, requester, "enterprise", tags=["reports"], expiresAt=ends, price=("320", "USD"))


def only_license(world: World, requester: str) -> str:
    """Return the id of the requester's first licence."""
    return min(
        (known.changes[0].begun, id_)
        for id_, known in world.diary.licenses.items()
        if known.latest["requester"] == requester
    )[1]
