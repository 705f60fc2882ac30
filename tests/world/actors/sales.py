"""Sales staff: issue, change, price and revoke licences, record adjustments and refund by API."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tests.world.caller import Reply
from tests.world.diary import Booking, moment
from tests.world.world import World


def issue(world: World, requester: str, kind: str, **terms: Any) -> str:
    """Issue a licence and return its id. Terms are the API's; `policies` by name, prices and fee as tuples."""
    reply = world.act("POST", "/v1/licenses", body_of(world, requester, kind, terms))
    return note(world, reply.body, reply, name=terms.get("requesterName"))


def issue_many(world: World, rows: list[tuple[str, str, dict[str, Any]]]) -> None:
    reply = world.act("POST", "/v1/licenses/bulk", {"items": [body_of(world, *row) for row in rows]})
    for outcome in reply.body["data"]:
        assert outcome["status"] == 201, outcome
        note(world, outcome["license"], reply)


def body_of(world: World, requester: str, kind: str, terms: Mapping[str, Any]) -> dict[str, Any]:
    body = {"requesterId": requester, "licenseType": kind, **terms}
    if "policies" in body:
        body["policyIds"] = [world.ids[name] for name in body.pop("policies")]
    for name in ("price", "pricePerAccess"):
        if name in body:
            body[name] = dict(zip(("amount", "currency"), body[name], strict=True))
    if "fee" in body:
        body["fee"] = dict(zip(("amount", "currency", "every"), body["fee"], strict=True))
    return body


def note(world: World, shown: Mapping[str, Any], reply: Reply, actor: str = "key", name: str | None = None) -> str:
    """Note a licence in the diary as the API showed it; `name` is the requester's that was sent with it."""
    id_ = str(shown["id"])
    world.diary.licenses[id_].write(reply, **state_of(world, shown))
    world.diary.meet(shown["requesterId"], name)
    world.diary.deed("license.created", id_, actor)
    book_price(world, id_, shown, reply, 1)
    return id_


def state_of(world: World, shown: Mapping[str, Any]) -> dict[str, Any]:
    names = {id_: name for name, id_ in world.ids.items()}
    return {
        "requester": shown["requesterId"],
        "type": shown["licenseType"],
        "contentIds": shown["contentIds"],
        "tags": shown["tags"],
        "policies": [names[id_] for id_ in shown["policyIds"]],
        "startsAt": moment(shown["startsAt"]),
        "expiresAt": shown["expiresAt"] and moment(shown["expiresAt"]),
        "perAccess": amount_of(shown["pricePerAccess"]),
        "fee": shown["fee"],
    }


def amount_of(price: Mapping[str, Any] | None) -> tuple[Decimal, str] | None:
    return price and (Decimal(str(price["amount"])), price["currency"])


def book_price(world: World, id_: str, shown: Mapping[str, Any], reply: Reply, sign: int) -> None:
    amount, currency = amount_of(shown["price"]) or (Decimal(0), "")
    if amount:
        about = (shown["requesterId"], id_, shown["licenseType"], None, None)
        booked = datetime.fromtimestamp(reply.begun, UTC)
        entry = Booking("license", sign * amount, currency, *about, moment(shown["startsAt"]), booked)
        world.diary.entries.append(entry)


def change(world: World, id_: str, **fields: Any) -> None:
    """Change a licence by PATCH. A new price reverses the former ledger entry."""
    before = world.get(f"/v1/licenses/{id_}")
    body = body_of(world, before["requesterId"], before["licenseType"], fields)
    reply = world.act("PATCH", f"/v1/licenses/{id_}", body)
    world.diary.licenses[id_].write(reply, **state_of(world, reply.body))
    world.diary.deed("license.updated", id_)
    if before["price"] != reply.body["price"]:
        book_price(world, id_, before, reply, -1)
        book_price(world, id_, reply.body, reply, 1)


def revoke(world: World, id_: str) -> None:
    reply = world.act("POST", f"/v1/licenses/{id_}/revoke", {})
    world.diary.licenses[id_].write(reply, revokedAt=moment(reply.body["revokedAt"]))
    world.diary.deed("license.revoked", id_)


def adjust(world: World, amount: str, currency: str, **about: Any) -> None:
    """Record an adjustment."""
    reply = world.act("POST", "/v1/revenue", {"amount": amount, "currency": currency, **about})
    note_adjustment(world, reply.body, reply, Decimal(amount), occurred=about.get("occurredAt"))


def note_adjustment(
    world: World, shown: Any, reply: Reply, amount: Decimal, actor: str = "key", occurred: str | None = None
) -> None:
    """Note an adjustment of this amount in the diary; the other fields are as the API showed them."""
    about = ("requesterId", "licenseId", "licenseType", "contentId", "decisionId")
    booked = datetime.fromtimestamp(reply.begun, UTC)
    counts = moment(occurred) if occurred else booked
    facts = [shown[name] for name in about]
    world.diary.entries.append(Booking("adjustment", amount, shown["currency"], *facts, counts, booked))
    world.diary.deed("ledger_entry.created", shown["id"], actor, "revenue.adjusted")


def license_of(world: World, requester: str) -> str:
    """Return the id of the requester's first licence."""
    return min(
        (known.changes[0].begun, id_)
        for id_, known in world.diary.licenses.items()
        if known.latest["requester"] == requester
    )[1]
