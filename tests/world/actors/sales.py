"""Sales staff: issue, change, price and revoke licences and record adjustments by API."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from tests.world.caller import Caller, Reply
from tests.world.diary import Entry
from tests.world.world import World

Money = tuple[str, str]  # amount and currency


def money(given: Money | None) -> dict[str, str] | None:
    return None if given is None else {"amount": given[0], "currency": given[1]}


def idempotent() -> dict[str, str]:
    return {"Idempotency-Key": uuid.uuid4().hex}


def issue(world: World, api: Caller, requester: str, kind: str, **terms: Any) -> str:
    """Issue a licence and return its id. Terms are the API's; `policies` by name, both prices as pairs."""
    reply = api.send_until_answered("POST", "/v1/licenses", body_of(world, requester, kind, terms), idempotent())
    assert reply.status == 201, reply.content
    return note(world, reply.body, reply)


def issue_many(world: World, api: Caller, rows: list[tuple[str, str, dict[str, Any]]]) -> list[str]:
    items = [body_of(world, *row) for row in rows]
    reply = api.send_until_answered("POST", "/v1/licenses/bulk", {"items": items}, idempotent())
    assert reply.status == 200, reply.content
    assert {outcome["status"] for outcome in reply.body["data"]} == {201}, reply.content
    return [note(world, outcome["license"], reply) for outcome in reply.body["data"]]


def body_of(world: World, requester: str, kind: str, terms: Mapping[str, Any]) -> dict[str, Any]:
    body = {"requesterId": requester, "licenseType": kind, **terms}
    if "policies" in body:
        body["policyIds"] = [world.ids[name] for name in body.pop("policies")]
    for name in ("price", "pricePerAccess"):
        if name in body:
            body[name] = money(body[name])
    return body


def note(world: World, shown: Mapping[str, Any], reply: Reply, actor: str = "key") -> str:
    """Note a licence in the diary as the API showed it."""
    id_ = shown["id"]
    world.diary.licenses[id_].write(reply, **state_of(world, shown))
    world.diary.requesters.setdefault(shown["requesterId"], None)
    if shown.get("requesterName"):
        world.diary.requesters[shown["requesterId"]] = shown["requesterName"]
    world.diary.deed("license.created", id_, reply, actor)
    book_price(world, id_, shown, reply, 1)
    return str(id_)


def state_of(world: World, shown: Mapping[str, Any]) -> dict[str, Any]:
    names = {id_: name for name, id_ in world.ids.items()}
    per_access = shown["pricePerAccess"]
    return {
        "requester": shown["requesterId"],
        "type": shown["licenseType"],
        "contentIds": shown["contentIds"],
        "tags": shown["tags"],
        "policies": [names[id_] for id_ in shown["policyIds"]],
        "startsAt": datetime.fromisoformat(shown["startsAt"]),
        "expiresAt": shown["expiresAt"] and datetime.fromisoformat(shown["expiresAt"]),
        "price": shown["price"] and (Decimal(str(shown["price"]["amount"])), shown["price"]["currency"]),
        "perAccess": per_access and (Decimal(str(per_access["amount"])), per_access["currency"]),
    }


def book_price(world: World, id_: str, shown: Mapping[str, Any], reply: Reply, sign: int) -> None:
    price = shown["price"]
    if price and Decimal(str(price["amount"])):
        amount = sign * Decimal(str(price["amount"]))
        about = (shown["requesterId"], id_, None, shown["licenseType"])
        entry = Entry("license", amount, price["currency"], *about, reply.begun, reply.ended, shown["startsAt"])
        world.diary.entries.append(entry)


def change(world: World, api: Caller, id_: str, **fields: Any) -> None:
    """Change a licence by PATCH. A new price reverses the former ledger entry."""
    path = f"/v1/licenses/{id_}"
    before = api.get(path)
    reply = api.send_until_answered(
        "PATCH", path, body_of(world, before["requesterId"], before["licenseType"], fields)
    )
    assert reply.status == 200, reply.content
    world.diary.licenses[id_].write(reply, **state_of(world, reply.body))
    world.diary.deed("license.updated", id_, reply)
    if before["price"] != reply.body["price"]:
        book_price(world, id_, before, reply, -1)
        book_price(world, id_, reply.body, reply, 1)


def revoke(world: World, api: Caller, id_: str) -> None:
    reply = api.send_until_answered("POST", f"/v1/licenses/{id_}/revoke", {}, idempotent())
    assert reply.status == 200, reply.content
    world.diary.licenses[id_].write(reply, revokedAt=datetime.fromisoformat(reply.body["revokedAt"]))
    world.diary.deed("license.revoked", id_, reply)


def adjust(world: World, api: Caller, amount: str, currency: str, **about: Any) -> Reply:
    """Record an adjustment; a refused one stays out of the diary."""
    body = {"amount": amount, "currency": currency, **about}
    reply = api.send_until_answered("POST", "/v1/revenue", body, idempotent())
    if reply.status == 201:
        shown = reply.body
        of = (shown["requesterId"], shown["licenseId"], shown["decisionId"], shown["licenseType"])
        when = (reply.begun, reply.ended, about.get("occurredAt"))
        entry = Entry("adjustment", Decimal(amount), currency, *of, *when, shown["contentId"])
        world.diary.entries.append(entry)
        world.diary.deed("ledger_entry.created", shown["id"], reply, event="revenue.adjusted")
    return reply
