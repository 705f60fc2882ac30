"""The publisher's customer desk: merging, erasure, synchronised licences, and refunds of single accesses.

It merges, erases and refunds before a day's traffic, because the order of simultaneous changes is unknown. Its
billing system synchronises licences during the traffic.
"""

from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any
from urllib.parse import quote

from tests.world import publisher
from tests.world.actors import prepaid, sales
from tests.world.caller import Caller, Reply
from tests.world.diary import Carried, Granted, Person, Question, moment
from tests.world.publisher import ADA, FORMER, KEPT
from tests.world.world import World

PROFILE: dict[str, Any] = {
    "name": "Ada King Lovelace",
    "email": "ada.king@analytical.example",
    "notes": "Met her at the engine.",
    "metadata": {"street": "Ockham Park 12"},
}
CONTEXT = {"ip": "203.0.113.77", "userAgent": "AdaBrowser/1843"}
TRACES = (ADA, "Ada King", "ada.king@", "Met her", "Ockham", "203.0.113.77", "AdaBrowser", "for Ada", "of Ada")
PRICE = ("0.03", "USD")
CALM = ("open", "premium", "embargo", "permissive", "changing")  # policies of items without limits
ITEMS = [
    n for n in range(publisher.PAGES_ITEMS) if publisher.item_policy(n) in CALM and n not in range(20, 27)
]  # those are archived now and then


def arrive(world: World) -> None:
    """Create the customers and the billing system's licences, before their first access."""
    for requester, name in ((FORMER, "Soylent (old)"), (KEPT, "Soylent")):
        sales.issue(world, requester, "commercial", requesterName=name, pricePerAccess=PRICE)
        # With a rest that pays for nothing, so that the merge has something to carry.
        prepaid.grant(world, prepaid.create(world, requester, "USD"), f"{prepaid.cents(world, 120)}0001")
    prepaid.create(world, FORMER, "access", refill=prepaid.weekly(prepaid.credit(world, 40), most_rolls_over=5))
    world.act("POST", "/v1/requesters", {"id": ADA, **PROFILE})
    world.diary.meet(ADA, PROFILE["name"])
    world.diary.deed("requester.created", ADA)
    terms: dict[str, Any] = {"metadata": {"by": "for Ada"}, "price": ("12", "EUR"), "pricePerAccess": PRICE}
    sales.issue(world, ADA, "commercial", requesterName=PROFILE["name"], **terms)
    prepaid.grant(world, prepaid.create(world, ADA, "USD"), prepaid.cents(world, 90))
    synchronise(world)


def ask(world: World, day: int, checks: int) -> Iterator[Reply]:
    """Make the customers' accesses through the publisher's application."""
    chance, api = world.random("customers of the desk", day), world.api("web")
    people = [FORMER, KEPT, *([] if world.diary.erased else [ADA])] if FORMER in world.diary.requesters else []
    for _ in range(checks if people else 0):
        yield check(world, api, chance, chance.choice(people))
    api.close()


def check(world: World, api: Caller, chance: Random, requester: str) -> Reply:
    name = publisher.external_id(chance.choice(ITEMS))
    body: dict[str, Any] = {"externalId": name, "requester": requester}
    current = world.diary.merged.get(requester, requester)
    asked = Question("customer desk", "check", current, name)
    if requester == ADA:
        body = {**body, "requester": {"id": ADA, "name": PROFILE["name"]}, "context": CONTEXT}
        asked.ip = CONTEXT["ip"]
    return world.diary.ask(asked, api.send("POST", "/v1/access/check", body))


def synchronise(world: World) -> None:
    """Send all of the billing system's licences, by externalId."""
    known = {known.latest.get("externalId"): id_ for id_, known in world.diary.licenses.items()}
    items = [
        {
            "externalId": f"subscription-{n}",
            "requesterId": f"member-{n:03}",
            "licenseType": "newsletter",
            "tags": ["news"],
            "price": {"amount": "3.00" if n % 2 else "4.50", "currency": "EUR"},
        }
        for n in range(publisher.SYNCHRONISED)
    ]
    reply = world.act("POST", "/v1/licenses/bulk", {"items": items})
    for outcome in reply.body["data"]:
        name = outcome["license"]["externalId"]
        world.diary.promise(
            "the billing system",
            f"{name} is made once",
            (200 if name in known else 201, known.get(name, outcome["license"]["id"])),
            (outcome["status"], outcome["license"]["id"]),
        )
        if name not in known:
            id_ = sales.note(world, outcome["license"], reply)
            world.diary.licenses[id_].write(reply, externalId=name)


def refund_accesses(world: World, requester: str) -> None:
    """Refund the latest two charged accesses, one in part. Refunding more than is left fails."""
    charged = [
        asked.answer
        for asked in world.diary.questions
        if asked.answer
        and asked.requester == requester
        and (asked.answer.get("charge") or {}).get("currency") == "USD"
        and (asked.answer.get("credits") or {}).get("unit") == "USD"
    ][-2:]
    assert len(charged) == 2, f"{requester} had no two charged accesses."
    reason = "A refund of Ada's" if requester == ADA else "A refund"
    for decision, amount in zip(charged, ("-0.03", "-0.01"), strict=True):
        sales.adjust(world, amount, "USD", decisionId=decision["id"], description=reason)
        body = {"amount": "-0.03", "currency": "USD", "decisionId": decision["id"]}
        refused = world.send("POST", "/v1/revenue", body)
        world.diary.promise("the customer desk", "no more is refunded than is left", 422, refused.status)
        note_refund(world, decision, -Decimal(amount))


def note_refund(world: World, decision: Any, amount: Decimal) -> None:
    """Note in the diary the grant that a refund created, in the paying wallet or the one it was merged into."""
    paid = decision["credits"]["walletId"]
    wallet = next((one.target for one in world.diary.carried if one.source == paid), paid)
    latest = world.get(f"/v1/wallets/{wallet}/grants", limit=1)["data"][0]
    found = (latest["kind"], latest["amount"])
    world.diary.promise("the customer desk", "a refund is a grant", ("refund", amount), found)
    begins = moment(latest["effectiveAt"])
    world.diary.grants[latest["id"]] = Granted(wallet, amount, 128, begins, None, refunds=decision["id"])


def merge(world: World) -> None:
    """Merge two customers; the old one's data moves to the other."""
    source, quota = (prepaid.wallet_of(world, FORMER, unit) for unit in ("USD", "access"))
    path = f"/v1/requesters/{FORMER}/merge"
    reply = world.act("POST", path, {"into": KEPT})
    world.diary.merged[FORMER] = KEPT
    world.diary.deed("requester.merged", FORMER)
    for id_, known in world.diary.licenses.items():
        if known.latest["requester"] == FORMER:
            known.write(reply, requester=KEPT)
            world.diary.deed("license.updated", id_)
    carry = next(row for row in world.get(f"/v1/wallets/{source}/entries")["data"] if row["type"] == "carry")
    at = moment(carry["created"])
    world.diary.carried.append(Carried(source, prepaid.wallet_of(world, KEPT, "USD"), at))
    world.diary.wallets[quota] = world.diary.wallets[quota]._replace(moved=(at, KEPT))
    world.diary.deed("wallet.updated", quota)
    again = world.send("POST", path, {"into": KEPT})
    world.diary.promise("the customer desk", "a merge that is repeated changes nothing", 200, again.status)


def erase(world: World) -> None:
    """Erase Ada's data."""
    reply = world.act("DELETE", f"/v1/requesters/{quote(ADA, safe='')}")
    pseudonym = reply.body["pseudonym"]
    world.diary.deed("requester.erased", pseudonym)
    texts = frozenset({PROFILE["name"], PROFILE["email"], PROFILE["notes"], *PROFILE["metadata"].values()})
    world.diary.erased.append(Person(ADA, pseudonym, texts))
    shown = world.get(f"/v1/requesters/{pseudonym}")
    found = (shown["name"], shown["email"], shown["notes"], shown["metadata"])
    world.diary.promise("the customer desk", "who was erased has no name", (None, None, None, {}), found)
