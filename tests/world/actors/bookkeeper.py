"""The bookkeeper: records payments and payouts, voids wrong ones, and refunds by API; a cheque in the admin."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from tests.world import publisher
from tests.world.actors import sales
from tests.world.actors.operator import Desk
from tests.world.caller import Reply
from tests.world.diary import Paid
from tests.world.world import World

WHO = "the bookkeeper"
# Recurring fees, and months of another time zone, are not rehearsed yet. They belong here and in model/money.py.


def take_in(world: World, day: int) -> None:
    """Record the bank's daily file of subscriber payments. Its last line is a duplicate."""
    yesterday = (world.clock.now() - timedelta(days=1)).isoformat()
    first = day * publisher.SUBSCRIPTIONS_PAID_A_DAY
    for number in range(first, first + publisher.SUBSCRIPTIONS_PAID_A_DAY):
        row = {"amount": "5.00", "currency": "EUR", "externalId": f"bank-{number}"}
        received = {"receivedAt": yesterday} if number % 5 == 0 else {}
        pay(world, publisher.subscriber(number % publisher.SUBSCRIBERS), **row, **received)
    row = {"amount": "0.000001", "currency": "EUR", "externalId": f"bank-of-day-{day}"}
    made = pay(world, "org_initech", **row)
    again = world.send("POST", "/v1/payments", {"requesterId": "org_initech", **row})
    sentence = "a line that is there twice is one payment"
    world.diary.promise(WHO, sentence, (200, made), (again.status, again.body["id"]))
    other = world.send("POST", "/v1/payments", {"requesterId": "org_initech", **row, "amount": "9.00"})
    world.diary.promise(WHO, "another payment with a known number is refused", 409, other.status)


def pay(world: World, requester: str, **fields: Any) -> str:
    """Record a payment and return its id."""
    body = {"requesterId": requester, **fields}
    reply = world.act("POST", "/v1/payments", body)
    return note(world, body, str(reply.body["id"]), reply)


def note(
    world: World, sent: Mapping[str, Any], id_: str, reply: Reply, actor: str = "key", grant: str | None = None
) -> str:
    """Note a payment in the diary as it was sent."""
    what = (sent["requesterId"], Decimal(sent["amount"]), sent["currency"])
    about = (sent.get("externalId"), sent.get("receivedAt"), sent.get("note"), sent.get("kind", "payment"), grant)
    world.diary.payments[id_] = Paid(*what, *about, reply.begun)
    world.diary.deed("payment.created", id_, actor)
    return id_


def void(world: World, external_id: str, reason: str) -> None:
    """Void a payment. A second void is refused."""
    id_ = next(id_ for id_, one in world.diary.payments.items() if one.external_id == external_id)
    reply = world.act("POST", f"/v1/payments/{id_}/void", {"reason": reason})
    world.diary.payments[id_] = world.diary.payments[id_]._replace(voided=reply.begun, reason=reason)
    world.diary.deed("payment.voided", id_)
    again = world.send("POST", f"/v1/payments/{id_}/void", {"reason": reason})
    world.diary.promise(WHO, "a payment is voided once", 409, again.status)


def take_instalment(world: World) -> None:
    """Record a partial payment with a note, one that bounces weeks later, and a typing error."""
    pay(world, "org_acme", amount="500.000001", currency="EUR", note="First instalment")
    pay(world, "org_vandelay", amount="77.000007", currency="EUR", externalId="debit")
    pay(world, "org_hooli", amount="99999", currency="EUR", externalId="typing error")
    void(world, "typing error", "Two digits too many")


def take_advance(world: World) -> None:
    """Record an overpayment, and a payment by an unknown requester."""
    pay(world, "org_globex", amount="5000", currency="USD", externalId="advance")
    refused = world.send("POST", "/v1/payments", {"requesterId": "org_nobody", "amount": "1", "currency": "USD"})
    found = (refused.status, refused.body["error"]["param"])
    world.diary.promise(WHO, "who is unknown pays nothing", (422, "requesterId"), found)


def pay_out(world: World) -> None:
    """Give back a part of what was paid in advance, record a returned debit, and take yen."""
    pay(world, "org_globex", amount="1234.567891", currency="USD", kind="payout", externalId="payout")
    void(world, "debit", "Returned by the bank")
    pay(world, "org_tanaka", amount="100000", currency="JPY")


def take_from_ada(world: World) -> None:
    pay(world, publisher.ADA, amount="12", currency="EUR", note="of Ada King")


def take_from_merged(world: World) -> None:
    """Pay the former customer's debts under its former id."""
    pay(world, publisher.FORMER, amount="0.50", currency="USD", note="Old invoice")


def take_cheque(world: World, desk: Desk) -> None:
    """Record a payment in the admin's form."""
    sent = {"requesterId": "org_hooli", "amount": "99.99", "currency": "EUR", "note": "By cheque"}
    fields = {"amount": sent["amount"], "currency": sent["currency"], "external_id": "cheque-1", "note": sent["note"]}
    reply = desk.do(
        "analytics/payment/add/", {"account": world.account, "requester_own_id": sent["requesterId"], **fields}
    )
    [made] = world.get("/v1/payments", externalId="cheque-1")["data"]
    note(world, {**sent, "externalId": "cheque-1"}, made["id"], reply, "operator")


def refund_in_two_parts(world: World) -> None:
    """Refund a licence's price in two parts, each sent three times at once. The second part is all that is left."""
    license_id = sales.license_of(world, "org_stark")
    for number, amount in enumerate(["100.000001", None]):
        body = {"licenseId": license_id, "reason": "Half a year", "externalId": f"credit note {number}"}
        body |= {"amount": amount} if amount else {}
        with ThreadPoolExecutor(3) as executor:
            replies = list(executor.map(partial(world.act, "POST", "/v1/refunds"), [body] * 3))
        [first] = [reply for reply in replies if reply.status == 201]
        assert {reply.body["id"] for reply in replies} == {first.body["id"]}
        given_back = Decimal(amount) if amount else Decimal("250.50") - Decimal("100.000001")
        sales.note_adjustment(world, first.body, first, -given_back)
    changed = world.send("POST", "/v1/refunds", {**body, "amount": "1"})
    world.diary.promise(WHO, "another refund with a known number is refused", 409, changed.status)
    more = world.send("POST", "/v1/refunds", {"licenseId": license_id, "amount": "0.000001"})
    world.diary.promise(WHO, "nothing is refunded where nothing is left", 422, more.status)


def settle(world: World) -> None:
    """Pay everything that a customer owes; its statement shows that."""
    who = {"requesterId": "org_initech", "currency": "USD"}
    owed = world.get("/v1/statements", **who)["data"][0]["closing"]
    pay(world, "org_initech", amount=str(owed), currency="USD", externalId="settled")
    shown = world.get("/v1/statements", **who)["data"][0]
    world.diary.promise(WHO, "who has paid everything owes nothing", Decimal(0), shown["closing"])
