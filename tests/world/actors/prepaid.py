"""Prepaid customers: the office opens their wallets, grants credit, and voids grants.

It does so before a day's traffic where that decides whether a check is covered, because the order of simultaneous
changes is unknown.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.world.actors.sales import idempotent
from tests.world.diary import Granted, Purse, Voided
from tests.world.world import World

PIPER, GLOBEX, ACME, GPTBOT = "org_piper", "org_globex", "org_acme", "crawler:gptbot"
FIRST_INVOICE, SECOND_INVOICE = "invoice-1", "invoice-2"


def open_wallets(world: World) -> None:
    """Open money wallets with several kinds of grants, refilled quotas, and the wallet of a crawler's licence."""
    create(world, ACME, "access", refill=weekly(world.times(90), most_rolls_over=10))
    create(world, PIPER, "access", refill=weekly(world.times(60), most_rolls_over=1000))
    grant(world, create(world, PIPER, "USD"), cents(world, 130))
    money = create(world, GLOBEX, "USD")
    grant(world, money, f"{cents(world, 200)}0001", externalId=FIRST_INVOICE)
    grant(world, money, cents(world, 250), kind="promotional", priority=0, expiresAt=in_days(world, 3.5))
    grant(world, money, cents(world, 300), effectiveAt=in_days(world, 5))
    grant(world, money, cents(world, 5000), priority=255, externalId=SECOND_INVOICE)
    held = next(id_ for id_, known in world.diary.licenses.items() if known.latest["requester"] == GPTBOT)
    grant(world, create(world, GPTBOT, "USD", licenseId=held), cents(world, 2))
    again = world.api().send("POST", "/v1/wallets", {"requesterId": GLOBEX, "unit": "USD"})
    world.diary.promise("the office", "there is one wallet for a requester and a unit", 409, again.status)


def weekly(amount: int, most_rolls_over: int) -> dict[str, Any]:
    return {"amount": amount, "every": "week", "rollover": {"min": 0, "max": most_rolls_over}}


def cents(world: World, usual: int) -> str:
    """Return an amount that suits the traffic, such as 2.50."""
    return f"{world.times(usual) / 100:.2f}"


def in_days(world: World, days: float) -> str:
    return (world.clock.now() + timedelta(days=days)).isoformat()


def create(world: World, requester: str, unit: str, **fields: Any) -> str:
    body = {"requesterId": requester, "unit": unit, **fields}
    reply = world.api().send_until_answered("POST", "/v1/wallets", body, idempotent())
    assert reply.status == 201, reply.content
    shown = reply.body
    world.diary.deed("wallet.created", shown["id"], reply)
    begun = datetime.fromisoformat(shown["created"])
    world.diary.wallets[shown["id"]] = Purse(requester, unit, fields.get("licenseId"), begun, fields.get("refill"))
    return str(shown["id"])


def grant(world: World, wallet: str, amount: str, **fields: Any) -> None:
    path = f"/v1/wallets/{wallet}/grants"
    reply = world.api().send_until_answered("POST", path, {"amount": amount, **fields}, idempotent())
    assert reply.status == 201, reply.content
    shown = reply.body
    world.diary.deed("grant.created", shown["id"], reply)
    begins = datetime.fromisoformat(fields.get("effectiveAt") or shown["created"])
    ends = datetime.fromisoformat(fields["expiresAt"]) if "expiresAt" in fields else None
    world.diary.grants[shown["id"]] = Granted(wallet, Decimal(amount), fields.get("priority", 128), begins, ends)


def take_back(world: World) -> None:
    """Void the unspent grant of the unpaid second invoice during traffic.

    Repeats the grant of the first invoice twice, which adds nothing.
    """
    api, money = world.api(), wallet_of(world, GLOBEX, "USD")
    path = f"/v1/wallets/{money}/grants"
    for _ in range(2):
        body = {"amount": f"{cents(world, 200)}0001", "externalId": FIRST_INVOICE}
        reply = api.send_until_answered("POST", path, body)
        world.diary.promise("the office", "a grant that is sent again adds nothing", 200, reply.status)
    id_ = next(id_ for id_, one in world.diary.grants.items() if one.wallet == money and one.priority == 255)
    reply = api.send_until_answered("POST", f"{path}/{id_}/void", {}, idempotent())
    assert reply.status == 200, reply.content
    world.diary.deed("grant.voided", id_, reply)
    moment = datetime.fromisoformat(reply.body["voidedAt"])
    world.diary.grants[id_].voided = Voided(moment, reply.begun, reply.ended)


def top_up(world: World) -> None:
    """Grant more to customers who had nothing left."""
    for requester, usual in ((GLOBEX, 700), (PIPER, 200), (GPTBOT, 2)):
        grant(world, wallet_of(world, requester, "USD"), cents(world, usual))


def wallet_of(world: World, requester: str, unit: str) -> str:
    return next(id_ for id_, one in world.diary.wallets.items() if (one.requester, one.unit) == (requester, unit))
