from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction

from analytics.models import Payment
from analytics.statements.closing import close_due
from tests import auditlog, factories
from tests.client import ApiClient


@pytest.fixture
def held(account, clock):
    return factories.license(account, per_access="0.05")


@pytest.fixture
def pay(api, held):
    def post(amount="500", **fields):
        return api.post("/v1/payments", {"requesterId": "org_acme", "amount": amount, "currency": "USD", **fields})

    return post


@pytest.fixture
def check(api, item):
    return lambda: api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})


def statements(api, **query):
    return {(one["month"], one["currency"]): one for one in api.get("/v1/statements", **query)["data"]}


def test_a_payment_comes_back_with_every_field(api, pay, clock):
    made = pay("12.5", receivedAt="2026-03-01", externalId="inv-1", note="Bank transfer")
    assert made.status == 201
    assert made.body == {
        "id": made["id"], "object": "payment", "requesterId": "org_acme", "requesterName": None, "kind": "payment",
        "amount": 12.5, "currency": "USD", "receivedAt": "2026-03-01T00:00:00.000000Z", "externalId": "inv-1",
        "note": "Bank transfer", "grantId": None, "voidedAt": None, "voidReason": None,
        "created": "2026-03-04T05:06:07.250000Z",
    }  # fmt: skip
    assert made["id"].startswith("pay_")
    assert api.get(f"/v1/payments/{made['id']}").body == made.body
    assert api.get("/v1/payments")["data"] == [made.body]
    [entry] = auditlog.entries(resource_id=made["id"])
    assert (entry.action, entry.changes["amount"]) == ("payment.created", [None, "12.5"])


def test_a_payment_of_a_known_external_id_is_recorded_once(pay):
    first, again = pay("5", externalId="inv-1"), pay("5", externalId="inv-1")
    assert (first.status, again.status, again.body) == (201, 200, first.body)
    others = {"amount": "7", "kind": "payout", "currency": "EUR", "note": "Late", "receivedAt": "2026-03-01"}
    for name, value in others.items():
        other = pay(**{"amount": "5", "externalId": "inv-1", name: value})
        assert other.status_and_param == (409, "externalId")
        assert first["id"] in other.error["message"]
    assert Payment.objects.count() == 1


def test_a_wrong_payment_or_price_of_a_grant_is_refused(pay, api, account):
    for fields, param in [
        ({"requesterId": "nobody"}, "requesterId"), ({"amount": "0"}, "amount"), ({"amount": "-5"}, "amount"),
        ({"currency": "access"}, "currency"), ({"receivedAt": "2190-01-01"}, "receivedAt"),
        ({"receivedAt": "1990-01-01"}, "receivedAt"),
    ]:  # fmt: skip
        reply = pay(**fields)
        assert reply.status_and_param == (422, param)
    wallet = f"/v1/wallets/{factories.wallet(account)['wallet']}/grants"
    price = {"amount": "5", "currency": "EUR"}
    for body, param in (
        ({"kind": "promotional", "paid": price}, "paid"),
        ({"paid": {**price, "amount": 0}}, "paid.amount"),
        ({"paid": {**price, "currency": "access"}}, "paid.currency"),
    ):
        assert api.post(wallet, {"amount": 5, **body}).status_and_param == (422, param)
    narrow = ApiClient(factories.key_text(account, permissions=["licenses:write"]))
    assert narrow.post(wallet, {"amount": 5}).status == 201
    refused = narrow.post(wallet, {"amount": 5, "paid": price})
    assert (refused.status, "revenue:write" in refused.error["message"]) == (403, True)
    assert not Payment.objects.exists()


def test_payments_are_filtered(api, account, pay):
    first, second = pay(externalId="a", receivedAt="2026-01-01"), pay(currency="EUR")
    factories.payment(account)
    for query, found in (
        ("requesterId=org_acme", [second["id"], first["id"]]),
        ("externalId=a", [first["id"]]),
        ("externalId[startsWith]=a", [first["id"]]),
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


def test_each_month_opens_as_the_former_closed_and_a_closed_one_never_changes(api, account, pay, check, clock):
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


FIGURES = ("opening", "charges", "payments", "payouts", "paidForCredit", "closing")


def void(api, payment, **body):
    return api.post(f"/v1/payments/{payment['id']}/void", {"reason": "Typing error", **body})


def test_a_payment_can_be_repeated_after_its_requester_was_merged(api, pay):
    api.post("/v1/requesters", {"id": "org_b"})
    made = pay("5", externalId="inv-1")
    assert api.post("/v1/requesters/org_acme/merge", {"into": "org_b"}).status == 200
    for requester in ("org_acme", "org_b"):
        again = pay("5", externalId="inv-1", requesterId=requester)
        assert (again.status, again["id"]) == (200, made["id"])


def test_a_payout_raises_what_is_owed(api, pay):
    pay("500")
    given_back = pay("49.40", kind="payout")
    assert (given_back.status, given_back["kind"], given_back["amount"]) == (201, "payout", 49.4)
    [shown] = statements(api).values()
    assert [shown[name] for name in FIGURES] == [0, 0, 500, 49.4, 0, -450.6]
    assert [one["id"] for one in api.get("/v1/payments?kind=payout")["data"]] == [given_back["id"]]
    assert pay(kind="refund").status == 422


def test_a_void_payment_stays_listed_and_counts_no_longer(api, pay, clock):
    wrong, right = pay("500", externalId="inv-1"), pay("50")
    clock.now += timedelta(hours=1)
    voided = void(api, wrong)
    assert voided.status == 200
    assert voided.body == {**wrong.body, "voidedAt": "2026-03-04T06:06:07.250000Z", "voidReason": "Typing error"}
    assert api.get("/v1/payments")["data"] == [right.body, voided.body]
    again = void(api, wrong)
    assert again.status_and_code == (409, "resource_already_exists")
    assert "was voided on 2026-03-04" in again.error["message"]
    assert pay("500", externalId="inv-1").body == voided.body  # the number stays used
    corrected = pay("50", externalId="inv-1")
    assert corrected.status_and_param == (409, "externalId")
    assert "That payment is void. Record the corrected one with another number." in corrected.error["message"]
    for reason in ("", None):
        assert void(api, right, reason=reason).status == 422
    [shown] = statements(api).values()
    assert [shown[name] for name in FIGURES] == [0, 0, 50, 0, 0, -50]
    actions = [entry.action for entry in auditlog.entries(resource_id=wrong["id"])]
    assert sorted(actions) == ["payment.created", "payment.voided"]
    events = [one["type"] for one in api.get(f"/v1/events?objectId={wrong['id']}")["data"]]
    assert sorted(events) == ["payment.created", "payment.voided"]


@pytest.mark.parametrize("change", ["amount = 1", "note = NULL", "reverses_id = id", "voided_at = NULL"])
def test_neither_payments_nor_voids_change(api, pay, change):
    void(api, pay())
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE analytics_payment SET {change}")  # noqa: S608 - of this test
    recorded, voided = Payment.objects.order_by("created")
    assert (recorded.amount, voided.amount, voided.reverses) == (500, -500, recorded)
    assert api.get(f"/v1/payments/{voided.pk}").status == 404


def test_a_void_of_a_closed_month_counts_in_the_month_in_which_it_is_made(api, pay, check, clock):
    paid, given_back = pay("500"), pay("20", kind="payout")
    check()
    clock.set("2026-04-10T12:00:00Z")
    assert close_due() == 1
    [march] = statements(api).values()
    listed = api.get(f"/v1/statements/{march['id']}/payments")["data"]
    void(api, paid)
    void(api, given_back)

    found = statements(api)
    assert found["2026-03", "USD"] == march
    assert [march[name] for name in FIGURES] == [0, 0.05, 500, 20, 0, -479.95]
    assert [found["2026-04", "USD"][name] for name in FIGURES] == [-479.95, 0, -500, -20, 0, 0.05]
    assert api.get(f"/v1/statements/{march['id']}/payments")["data"] == listed
    assert [(one["kind"], one["counted"], one["voidedAt"]) for one in listed] == [
        ("payout", 20, None),
        ("payment", 500, None),
    ]
    april = api.get(f"/v1/statements/{found['2026-04', 'USD']['id']}/payments")["data"]
    assert [(one["id"], one["counted"]) for one in april] == [(given_back["id"], -20), (paid["id"], -500)]
    assert all(one["voidedAt"].startswith("2026-04-10") for one in april)
    clock.set("2026-05-10T12:00:00Z")
    assert close_due() == 1
    assert statements(api)["2026-04", "USD"]["closing"] == 0.05
    later = pay("1")
    may = api.get(f"/v1/statements/{statements(api)['2026-05', 'USD']['id']}/payments")["data"]
    assert [(one["id"], one["counted"]) for one in may] == [(later["id"], 1)]  # no former month's


def test_a_paid_grant_records_what_was_paid(api, account, pay):
    wallet = f"/v1/wallets/{factories.wallet(account, unit='access', requester_id='org_acme')['wallet']}"
    pay("2")
    body = {"amount": 10_000, "paid": {"amount": "100", "currency": "EUR"}, "externalId": "order-1"}
    made = api.post(f"{wallet}/grants", body)
    assert (made.status, made["paid"]) == (201, {"amount": 100, "currency": "EUR"})
    again = api.post(f"{wallet}/grants", body)
    assert (again.status, again.body) == (200, made.body)
    assert [one["paid"] for one in api.get(f"{wallet}/grants")["data"]] == [made["paid"], None]
    [payment] = api.get("/v1/payments?currency=EUR")["data"]
    assert (payment["grantId"], payment["requesterId"], payment["amount"]) == (made["id"], "org_acme", 100)
    found = statements(api)
    month = next(iter(found))[0]
    assert [found[month, "EUR"][name] for name in FIGURES] == [0, 0, 0, 0, 100, 0]
    assert [found[month, "USD"][name] for name in FIGURES] == [0, 0, 2, 0, 0, -2]
    void(api, payment)
    [grant, _] = api.get(f"/v1/wallets/{made['walletId']}/grants")["data"]
    assert grant == api.get(f"/v1/wallets/{made['walletId']}/grants/{made['id']}").body
    assert (grant["id"], grant["paid"]) == (made["id"], {"amount": 100, "currency": "EUR"})
    assert statements(api)[month, "EUR"]["paidForCredit"] == 0
    [listed] = api.get(f"/v1/statements/{found[month, 'EUR']['id']}/payments")["data"]
    assert (listed["grantId"], listed["amount"], listed["counted"]) == (made["id"], 100, 0)


def test_a_retry_of_a_paid_grant_takes_the_permission_too(api, account):
    wallet = f"/v1/wallets/{factories.wallet(account)['wallet']}/grants"
    narrow = ApiClient(factories.key_text(account, permissions=["licenses:write"]))
    for body, status in (({"amount": 5, "paid": {"amount": 5, "currency": "EUR"}}, 403), ({"amount": 5}, 201)):
        sent = {"Idempotency-Key": f"grant-{status}"}
        assert api.post(wallet, body, headers=sent).status == 201
        assert narrow.post(wallet, body, headers=sent).status == status
