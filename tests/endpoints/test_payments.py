"""/v1/payments, and statements with payments and credits (docs/reference/reports.md)."""

from datetime import timedelta
from decimal import Decimal

import pytest

from analytics.models import Payment
from analytics.statements.closing import close_due
from tests import auditlog, factories
from tests.clock import clock  # noqa: F401 - a fixture


@pytest.fixture
def held(account, clock):  # noqa: F811
    return factories.license(account, per_access="0.05")


@pytest.fixture
def pay(api, held):
    def post(amount="500", **fields):
        return api.post("/v1/payments", {"requesterId": "org_acme", "amount": amount, "currency": "USD", **fields})

    return post


@pytest.fixture
def check(api, account):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    return lambda: api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})


def statements(api, **query):
    return {(one["month"], one["currency"]): one for one in api.get("/v1/statements", **query)["data"]}


def test_a_payment_comes_back_with_every_field(api, pay, clock):  # noqa: F811
    made = pay("12.5", receivedAt="2026-03-01", externalId="inv-1", note="Bank transfer")
    assert made.status == 201
    assert made.body == {
        "id": made["id"],
        "object": "payment",
        "requesterId": "org_acme",
        "amount": 12.5,
        "currency": "USD",
        "receivedAt": "2026-03-01T00:00:00.000000Z",
        "externalId": "inv-1",
        "note": "Bank transfer",
        "created": "2026-03-04T05:06:07.250000Z",
    }
    assert made["id"].startswith("pay_")
    assert api.get(f"/v1/payments/{made['id']}").body == made.body
    assert api.get("/v1/payments")["data"] == [made.body]
    [entry] = auditlog.entries(resource_id=made["id"])
    assert (entry.action, entry.changes["amount"]) == ("payment.created", [None, "12.5"])


def test_a_payment_of_a_known_external_id_is_recorded_once(pay):
    first, again = pay("5", externalId="inv-1"), pay("5", externalId="inv-1")
    assert (first.status, again.status, again.body) == (201, 200, first.body)
    other = pay("7", externalId="inv-1")
    assert (other.status, other.error["param"]) == (409, "externalId")
    assert first["id"] in other.error["message"]
    assert Payment.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"requesterId": "nobody"}, "requesterId"),
        ({"amount": "0"}, "amount"),
        ({"amount": "-5"}, "amount"),
        ({"currency": "access"}, "currency"),
        ({"receivedAt": "2190-01-01"}, "receivedAt"),
        ({"receivedAt": "1990-01-01"}, "receivedAt"),
    ],
)
def test_a_wrong_payment_is_refused_and_named(pay, fields, param):
    reply = pay(**fields)
    assert (reply.status, reply.error["param"]) == (422, param)
    assert not Payment.objects.exists()


def test_payments_are_filtered(api, account, pay):
    first, second = pay(externalId="a", receivedAt="2026-01-01"), pay(currency="EUR")
    factories.payment(account)
    for query, found in (
        ("requesterId=org_acme", [second["id"], first["id"]]),
        ("externalId=a", [first["id"]]),
        ("currency=EUR", [second["id"]]),
        ("receivedAt[lt]=2026-02-01", [first["id"]]),
    ):
        assert [one["id"] for one in api.get(f"/v1/payments?{query}")["data"]] == found


def test_a_statement_adds_up_charges_refunds_payments_and_credits(api, account, pay, check):
    wallet = f"/v1/wallets/{factories.wallet(account, amount=2, requester_id='org_acme')['wallet']}"
    pay("2")
    decisions = [check()["id"] for _ in range(3)]
    api.post("/v1/revenue", {"amount": "-0.02", "currency": "USD", "decisionId": decisions[0]})
    gift = api.post(f"{wallet}/grants", {"amount": 1, "kind": "promotional", "priority": 255})["id"]
    api.post(f"{wallet}/grants/{gift}/void")

    [shown] = statements(api).values()
    figures = ("opening", "charges", "refunds", "payments", "closing")
    assert [shown[name] for name in figures] == [0, 0.15, 0.02, 2, -1.87]
    assert shown["credits"] == {
        "opening": 0, "granted": 3, "spent": 0.15, "expired": 1, "refunded": 0.02, "closing": 1.87,
    }  # fmt: skip
    assert api.get(wallet)["balance"] == shown["credits"]["closing"]
    assert api.get(f"/v1/statements/{shown['id']}").body == shown


def test_each_month_opens_as_the_former_closed_and_a_closed_one_never_changes(api, account, pay, check, clock):  # noqa: F811
    refill = {"amount": 10, "every": "month", "rollover": {"max": 3}}
    api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "access", "refill": refill})
    factories.wallet(account, amount=2, requester_id="org_acme")
    pay("2")
    check()
    march = statements(api)
    assert march["2026-03", "access"]["credits"]["closing"] == 9
    clock.set("2026-06-10T12:00:00Z")  # two refills are due and not yet stored
    assert close_due() == 3
    closed = statements(api, status="closed")
    pay("1", receivedAt="2026-03-05")
    check()

    found = statements(api)
    assert {key: one for key, one in found.items() if key in closed} == closed
    assert closed["2026-03", "USD"]["closing"] == -1.95
    assert found["2026-06", "USD"]["opening"] == -1.95
    assert found["2026-06", "USD"]["closing"] == -2.9
    shown = [found[f"2026-0{month}", "access"]["credits"] for month in (3, 4, 5, 6)]
    assert [one["closing"] for one in shown] == [9, 13, 13, 12]
    assert [one["opening"] for one in shown[1:]] == [one["closing"] for one in shown[:-1]]
    assert [one["expired"] for one in shown] == [0, 6, 10, 10]  # three roll over


def test_closing_in_steps_or_at_once_makes_no_difference(api, account, pay, check, clock):  # noqa: F811
    refill = {"amount": 5, "every": "week", "rollover": {"min": 1, "max": 3}}
    api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "access", "refill": refill})
    pay("2")
    for days in (10, 30, 30):
        check()
        clock.now += timedelta(days=days)
    open_ones = statements(api, status="open")
    close_due()
    figures = {key: (one["closing"], one["payments"], one["charges"]) for key, one in statements(api).items()}
    assert all(figures[key] == (one["closing"], one["payments"], one["charges"]) for key, one in open_ones.items())
    total = sum(Decimal(str(one["credits"]["spent"])) for one in statements(api).values() if one["credits"])
    assert total == 3
