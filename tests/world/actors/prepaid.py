"""Prepaid customers: the office opens their wallets, grants credit, and voids grants.

It does so before a day's traffic where that decides whether a check is covered, because the order of simultaneous
changes is unknown.
"""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from tests.world.actors import bookkeeper, sales
from tests.world.diary import Granted, Purse, Voided, moment
from tests.world.world import World

PIPER, GLOBEX, ACME, GPTBOT = "org_piper", "org_globex", "org_acme", "crawler:gptbot"
HOOLI, TANAKA = "org_hooli", "org_tanaka"
FIRST_INVOICE, SECOND_INVOICE = "invoice-1", "invoice-2"


def open_wallets(world: World) -> None:
    """Open money wallets with several kinds of grants, refilled quotas, and the wallet of a crawler's licence."""
    create(world, ACME, "access", refill=weekly(credit(world, 90), most_rolls_over=10))
    quota = create(world, PIPER, "access", refill=weekly(credit(world, 60), most_rolls_over=1000))
    grant(world, quota, str(credit(world, 30)), paid={"amount": "30.000001", "currency": "EUR"})
    grant(world, create(world, PIPER, "USD"), cents(world, 130))
    money = create(world, GLOBEX, "USD")
    grant(world, money, f"{cents(world, 200)}0001", externalId=FIRST_INVOICE)
    grant(world, money, cents(world, 250), kind="promotional", priority=0, expiresAt=in_days(world, 3.5))
    grant(world, money, cents(world, 300), effectiveAt=in_days(world, 5))
    grant(world, money, cents(world, 5000), priority=255, externalId=SECOND_INVOICE)
    grant(world, create(world, GPTBOT, "USD", licenseId=sales.license_of(world, GPTBOT)), cents(world, 2))
    grant(world, create(world, TANAKA, "JPY"), str(credit(world, 400)))
    # Nothing is spent of this credit: all of it expires.
    paid = {"amount": "25", "currency": "EUR"}
    grant(world, create(world, HOOLI, "EUR"), "25.000003", paid=paid, expiresAt=in_days(world, 9))
    again = world.api().send("POST", "/v1/wallets", {"requesterId": GLOBEX, "unit": "USD"})
    world.diary.promise("the office", "there is one wallet for a requester and a unit", 409, again.status)


def weekly(amount: int, most_rolls_over: int) -> dict[str, Any]:
    return {"amount": amount, "every": "week", "rollover": {"min": 0, "max": most_rolls_over}}


def credit(world: World, usual: int) -> int:
    """Return credit that suits the month's traffic."""
    return max(round(usual * world.share), 1)


def cents(world: World, usual: int) -> str:
    """Return an amount that suits the traffic, such as 2.50."""
    return f"{credit(world, usual) / 100:.2f}"


def in_days(world: World, days: float) -> str:
    return (world.clock.now() + timedelta(days=days)).isoformat()


def create(world: World, requester: str, unit: str, **fields: Any) -> str:
    reply = world.act("POST", "/v1/wallets", {"requesterId": requester, "unit": unit, **fields})
    id_ = str(reply.body["id"])
    world.diary.deed("wallet.created", id_)
    begun = moment(reply.body["created"])
    world.diary.wallets[id_] = Purse(requester, unit, fields.get("licenseId"), begun, fields.get("refill"))
    return id_


def grant(world: World, wallet: str, amount: str, **fields: Any) -> None:
    """Grant credit; with `paid` the payment for it is recorded too."""
    reply = world.act("POST", f"/v1/wallets/{wallet}/grants", {"amount": amount, **fields})
    id_ = str(reply.body["id"])
    world.diary.deed("grant.created", id_)
    begins = moment(fields.get("effectiveAt") or reply.body["created"])
    ends = moment(fields["expiresAt"]) if "expiresAt" in fields else None
    world.diary.grants[id_] = Granted(wallet, Decimal(amount), fields.get("priority", 128), begins, ends)
    if "paid" in fields:
        [payment] = [row for row in world.get("/v1/payments", limit=100)["data"] if row["grantId"] == id_]
        row = {"requesterId": world.diary.wallets[wallet].requester, **fields["paid"]}
        bookkeeper.note(world, row, payment["id"], reply, grant=id_)


def take_back(world: World) -> None:
    """Void the unspent grant of the unpaid second invoice during traffic.

    Repeats the grant of the first invoice twice, which adds nothing.
    """
    money = wallet_of(world, GLOBEX, "USD")
    path = f"/v1/wallets/{money}/grants"
    for _ in range(2):
        reply = world.send("POST", path, {"amount": f"{cents(world, 200)}0001", "externalId": FIRST_INVOICE})
        world.diary.promise("the office", "a grant that is sent again adds nothing", 200, reply.status)
    id_ = next(id_ for id_, one in world.diary.grants.items() if one.wallet == money and one.priority == 255)
    reply = world.act("POST", f"{path}/{id_}/void", {})
    world.diary.deed("grant.voided", id_)
    world.diary.grants[id_].voided = Voided(moment(reply.body["voidedAt"]), reply.begun, reply.ended)


def top_up(world: World) -> None:
    """Grant more to customers who had nothing left."""
    for requester, usual in ((GLOBEX, 700), (PIPER, 200), (GPTBOT, 2)):
        grant(world, wallet_of(world, requester, "USD"), cents(world, usual))


def wallet_of(world: World, requester: str, unit: str) -> str:
    return next(id_ for id_, one in world.diary.wallets.items() if (one.requester, one.unit) == (requester, unit))
