"""The publisher's content system: creates, changes, archives and deletes items by API."""

from typing import Any

from tests.world.caller import Reply
from tests.world.world import World

CHUNK = 500
NEW = {"status": "active", "policy": None, "tags": [], "type": "article"}


def upsert(world: World, rows: list[dict[str, Any]]) -> None:
    """Create or update items by externalId; `policy` is a policy's name."""
    for first in range(0, len(rows), CHUNK):
        chunk = rows[first : first + CHUNK]
        reply = world.act("POST", "/v1/content/bulk", {"items": [as_sent(world, row) for row in chunk]})
        for row, outcome in zip(chunk, reply.body["data"], strict=True):
            assert outcome["status"] in (200, 201), outcome
            note(world, row, outcome["content"]["id"], reply)


def change(world: World, name: str, **fields: Any) -> None:
    """Change an item by PATCH."""
    reply = world.act("PATCH", f"/v1/content/{world.ids[name]}", as_sent(world, fields))
    note(world, {"externalId": name, **fields}, world.ids[name], reply)


def delete(world: World, name: str) -> None:
    """Delete an item. A 404 is fine, as a retry after an unnoticed success gets it."""
    reply = world.act("DELETE", f"/v1/content/{world.ids[name]}", None, 204, 404)
    world.diary.items[name].write(reply, deleted=True)
    world.diary.deed("content.deleted", world.ids[name])


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
        known.write(reply, **{**NEW, **kept, "id": id_})
        world.diary.deed("content.created", id_, actor)
    elif any(known.latest.get(field) != value for field, value in kept.items()):
        archived = kept.get("status") == "archived" != known.latest["status"]
        known.write(reply, **kept)
        world.diary.deed("content.updated", id_, actor, "content.archived" if archived else None)
