"""The publisher's content system: creates, changes, archives and deletes items by API."""

import uuid
from typing import Any

from tests.world.caller import Caller, Reply
from tests.world.world import World

CHUNK = 500


def upsert(world: World, api: Caller, rows: list[dict[str, Any]]) -> None:
    """Create or update items by externalId; `policy` is a policy's name."""
    for first in range(0, len(rows), CHUNK):
        chunk = rows[first : first + CHUNK]
        body = {"items": [as_sent(world, row) for row in chunk]}
        reply = api.send_until_answered("POST", "/v1/content/bulk", body, {"Idempotency-Key": uuid.uuid4().hex})
        assert reply.status == 200, reply.content
        for row, outcome in zip(chunk, reply.body["data"], strict=True):
            assert outcome["status"] in (200, 201), outcome
            note(world, row, outcome["content"]["id"], reply)


def change(world: World, api: Caller, name: str, actor: str = "key", **fields: Any) -> None:
    """Change an item by PATCH."""
    sent = as_sent(world, fields)
    reply = api.send_until_answered("PATCH", f"/v1/content/{world.ids[name]}", sent)
    assert reply.status == 200, reply.content
    note(world, {"externalId": name, **fields}, world.ids[name], reply, actor)


def delete(world: World, api: Caller, name: str) -> None:
    """Delete an item. A 404 is fine, as a retry after an unnoticed success gets it."""
    reply = api.send_until_answered("DELETE", f"/v1/content/{world.ids[name]}")
    assert reply.status in (200, 404), reply.content
    world.diary.items[name].write(reply, deleted=True)
    world.diary.deed("content.deleted", world.ids[name], reply)


def as_sent(world: World, row: dict[str, Any]) -> dict[str, Any]:
    sent = {name: value for name, value in row.items() if name != "policy"}
    if "policy" in row:
        sent["policyId"] = None if row["policy"] is None else world.ids[row["policy"]]
    return sent


def note(world: World, row: dict[str, Any], id_: str, reply: Reply, actor: str = "key") -> None:
    """Note an item's new state in the diary."""
    name = row["externalId"]
    known, kept = world.diary.items[name], {field: value for field, value in row.items() if field != "externalId"}
    if not known.changes:
        world.ids[name] = id_
        known.write(reply, **{"status": "active", "policy": None, "tags": [], "type": "article", **kept, "id": id_})
        world.diary.deed("content.created", id_, reply, actor)
    elif any(known.latest.get(field) != value for field, value in kept.items()):
        archived = kept.get("status") == "archived" != known.latest["status"]
        known.write(reply, **kept)
        world.diary.deed("content.updated", id_, reply, actor, "content.archived" if archived else None)
