"""The publisher's office: makes changes by API during traffic."""

import time
from datetime import timedelta
from typing import Any

from tests.world import publisher
from tests.world.actors import catalogue, readers, sales
from tests.world.world import World

PROXY_SECONDS = 2
STALLED_PAGE = publisher.Page("/premium/story-4")
TOGGLED = {True: [publisher.READERS], False: [publisher.LICENSED, publisher.NOBODY]}


def toggle_policy(world: World, open_to_all: bool) -> None:
    """Open or close the daily changing policy during traffic."""
    known, rules = world.diary.policies["changing"], TOGGLED[open_to_all]
    if known.latest["rules"] != rules:
        reply = world.act("PATCH", f"/v1/policies/{world.ids['changing']}", {"rules": rules})
        known.write(reply, version=known.latest["version"] + 1, rules=rules)
        world.diary.deed("policy.updated", world.ids["changing"])


def roll_back_policy(world: World, name: str, version: int) -> None:
    known = world.diary.policies[name]
    [former] = [change.state for change in known.changes if change.state["version"] == version]
    reply = world.act("POST", f"/v1/policies/{world.ids[name]}/rollback", {"version": version})
    known.write(reply, **{**former, "version": known.latest["version"] + 1})
    world.diary.deed("policy.rolled_back", world.ids[name])


def publish(world: World, day: int, before: int | None) -> None:
    """Do the content system's daily work: create and change items, and archive, restore and delete one each.

    `before` is the day on which it was done last.
    """
    chance = world.random("content system", day)
    rows: list[dict[str, Any]] = [
        {"externalId": f"new-{day}-{n}", "title": f"News of day {day}", "policy": "open", "tags": ["news"]}
        for n in range(3)
    ]
    for number in chance.sample(range(100, publisher.ITEMS), 12):
        policy, tag = chance.choice(publisher.OF_ITEMS), chance.choice(publisher.TAGS)
        rows.append({"externalId": publisher.external_id(number), "policy": policy, "tags": [tag]})
    catalogue.upsert(world, rows)
    catalogue.change(world, publisher.external_id(20 + day % 7), status="archived")
    if before is not None:
        if before % 7 != day % 7:
            catalogue.change(world, publisher.external_id(20 + before % 7), status="active")
        catalogue.delete(world, f"new-{before}-0")


def rotate_key(world: World) -> None:
    """Rotate the application's key; both keys work for a day."""
    reply = world.act("POST", f"/v1/api-keys/{world.key_ids['web']}/rotate", {"overlapSeconds": 86_400})
    world.diary.deed("api_key.rotated", world.key_ids["web"])
    world.diary.deed("api_key.created", reply.body["id"])
    world.keys["old web"] = world.keys["web"]
    world.keys["web"], world.key_ids["web"] = reply.body["key"], reply.body["id"]
    expect_old_key(world, 200, "the old key works for the overlap")


def expect_old_key(world: World, status: int, sentence: str) -> None:
    reply = world.api("old web").send_until_answered("GET", "/v1/content?limit=1")
    world.diary.promise("the web server", sentence, status, reply.status)


def kill_service(world: World) -> None:
    """Kill all service processes with SIGKILL, and restart."""
    begun = world.clock.timestamp()
    world.service.kill()
    time.sleep(0.3)  # so that some requests find no service
    world.diary.kills.append((begun, world.clock.timestamp()))  # the service answers before `start` returns
    world.service.start()


def stall_service(world: World) -> None:
    """Stop the service until the proxy has given up on a reader, whose decision then comes late."""
    reader = world.visitor("127.0.1.40", **{"User-Agent": readers.BROWSER})
    with world.service.stopped():
        readers.visit(world, reader, STALLED_PAGE, world.random("reader of a stalled service", 0))
    reader.close()


def book_by_hand(world: World) -> None:
    """Record an outside sale, one that belongs to last month, a correction, and a sale without an exchange rate."""
    sales.adjust(world, "19.99", "USD", description="Sold at the fair")
    back = (world.clock.now() - timedelta(days=20)).isoformat()
    sales.adjust(world, "-2.500001", "EUR", requesterId="org_acme", occurredAt=back, description="Discount")
    sales.adjust(world, "1500", "JPY", requesterId="org_globex", description="Setup")
    sales.adjust(world, "80.25", "CHF", requesterId="org_globex", description="A currency without rates")


def renew(world: World) -> None:
    """Renew a licence with the customer's first name, and issue one with a second name for another customer."""
    ends = (world.clock.now() + timedelta(days=365)).isoformat()
    terms: dict[str, Any] = {"tags": ["reports"], "expiresAt": ends, "price": ("320", "USD")}
    sales.issue(world, "org_initech", "enterprise", requesterName="Initech", **terms)
    item = world.ids[publisher.external_id(1)]
    sales.issue(world, "org_acme", "newsletter", requesterName="Another Acme", contentIds=[item])
