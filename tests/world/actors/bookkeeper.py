"""The bookkeeper: records customers' payments by API from the bank's daily file, and once in the admin."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from tests.world import publisher
from tests.world.actors import customer_desk, sales
from tests.world.actors.operator import Desk
from tests.world.caller import Reply
from tests.world.diary import Paid
from tests.world.world import World

SUBSCRIPTIONS_PAID_A_DAY = 17  # so that a month has more than 500 payments, three chunks of an export
WHO = "the bookkeeper"


def take_in(world: World, day: int) -> None:
    """Record the bank's daily file of subscriber payments. Its last line is a duplicate."""
    yesterday = (world.clock.now() - timedelta(days=1)).isoformat()
    first = day * SUBSCRIPTIONS_PAID_A_DAY
    for number in range(first, first + SUBSCRIPTIONS_PAID_A_DAY):
        who = publisher.subscriber(number % publisher.SUBSCRIBERS)
        row = {"requesterId": who, "amount": "5.00", "currency": "EUR", "externalId": f"bank-{number}"}
        record(world, {**row, "receivedAt": yesterday} if number % 5 == 0 else row)
    row = {"requesterId": "org_initech", "amount": "0.000001", "currency": "EUR", "externalId": f"bank-of-day-{day}"}
    made, again = record(world, row), pay(world, row)
    world.diary.promise(
        WHO, "a line that is there twice is one payment", (200, made), (again.status, again.body["id"])
    )
    other = pay(world, {**row, "amount": "9.00"})
    world.diary.promise(WHO, "another payment with a known number is refused", 409, other.status)


def record(world: World, body: Mapping[str, Any]) -> str:
    """Record a payment and return its id. A retry after an unnoticed success finds the existing payment."""
    reply = pay(world, body)
    assert reply.status in (200, 201), reply.content
    return note(world, reply.body, reply, "key", received=body.get("receivedAt"))


def pay(world: World, body: Mapping[str, Any]) -> Reply:
    """Record a payment. The bank's reference makes retries safe; without one an Idempotency-Key is needed."""
    headers = {} if "externalId" in body else sales.idempotent()
    return world.api().send_until_answered("POST", "/v1/payments", body, headers)


def note(world: World, shown: Mapping[str, Any], reply: Reply, actor: str, received: str | None = None) -> str:
    """Note a payment in the diary as the API showed it."""
    what = (shown["requesterId"], Decimal(str(shown["amount"])), shown["currency"])
    id_ = str(shown["id"])
    world.diary.payments[id_] = Paid(*what, shown["externalId"], received, shown["note"], reply.begun, reply.ended)
    world.diary.deed("payment.created", id_, reply, actor)
    return id_


def take_instalment(world: World) -> None:
    """Record a partial payment with a note."""
    record(world, {"requesterId": "org_acme", "amount": "500.000001", "currency": "EUR", "note": "First instalment"})


def take_advance(world: World) -> None:
    """Record an overpayment, and a payment by an unknown requester."""
    record(world, {"requesterId": "org_globex", "amount": "5000", "currency": "USD", "externalId": "advance"})
    refused = pay(world, {"requesterId": "org_nobody", "amount": "1", "currency": "USD"})
    found = (refused.status, refused.body["error"]["param"])
    world.diary.promise(WHO, "who is unknown pays nothing", (422, "requesterId"), found)


def take_from_ada(world: World) -> None:
    record(world, {"requesterId": customer_desk.ADA, "amount": "12", "currency": "EUR", "note": "of Ada King"})


def take_from_merged(world: World) -> None:
    """Pay the former customer's debts under its former id."""
    record(world, {"requesterId": customer_desk.FORMER, "amount": "0.50", "currency": "USD", "note": "Old invoice"})


def take_cheque(world: World, desk: Desk) -> None:
    """Record a payment in the admin's form."""
    fields = {"account": world.account, "requester_own_id": "org_hooli", "amount": "99.99", "currency": "EUR"}
    reply = desk.do("analytics/payment/add/", {**fields, "external_id": "cheque-1", "note": "By cheque"})
    [made] = world.api().get("/v1/payments", externalId="cheque-1")["data"]
    note(world, made, reply, "operator")


def settle(world: World) -> None:
    """Pay everything that a customer owes; its statement shows that."""
    who = {"requesterId": "org_initech", "currency": "USD"}
    owed = world.api().get("/v1/statements", **who)["data"][0]["closing"]
    record(world, {**who, "amount": str(owed), "externalId": "settled"})
    shown = world.api().get("/v1/statements", **who)["data"][0]
    world.diary.promise(WHO, "who has paid everything owes nothing", Decimal(0), shown["closing"])
