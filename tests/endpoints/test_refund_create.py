from decimal import Decimal

import pytest

from analytics.models import LedgerEntry
from tests import auditlog, factories, ledger

NOBODY = f"lic_{'0' * 26}"


@pytest.fixture
def held(account):
    return factories.license(account, price_amount=Decimal(100), price_currency="EUR", per_access="0.05")


@pytest.fixture
def price(held):
    """The ledger entry of the licence's price."""
    return LedgerEntry.objects.get(license=held, type="license")


@pytest.fixture
def decision(check, held):
    return check()["id"]


@pytest.fixture
def refund(api):
    return lambda **body: api.post("/v1/refunds", body)


def refused(reply, param):
    assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", param)
    return reply.error["message"]


def test_a_part_of_a_charge_then_all_that_is_left_is_refunded(api, refund, decision):
    part = refund(decisionId=decision, amount="0.02", reason="Half a page")
    assert part.status == 201
    assert (part["type"], part["amount"], part["currency"]) == ("adjustment", -0.02, "USD")
    assert (part["decisionId"], part["requesterId"]) == (decision, "org_acme")
    assert (part["description"], part["externalId"]) == ("Half a page", None)
    assert part.headers["Location"] == f"/v1/revenue/{part['id']}"
    assert api.get(f"/v1/revenue/{part['id']}").body == part.body
    [audited] = auditlog.entries(resource_id=part["id"])
    assert (audited.action, audited.changes["amount"]) == ("ledger_entry.created", [None, "-0.02"])
    assert "At most 0.03 USD can be refunded" in refused(refund(decisionId=decision, amount="0.04"), "amount")
    rest = refund(decisionId=decision)
    assert (rest.status, rest["amount"]) == (201, -0.03)
    assert "At most 0.00 USD can be refunded" in refused(refund(decisionId=decision), "amount")


@pytest.mark.parametrize("name", ["entryId", "licenseId"])
def test_the_price_of_a_licence_is_refunded_by_its_entry_or_by_the_licence(refund, price, name):
    about = {name: price.pk if name == "entryId" else price.license_id}
    assert refund(**about, amount="40.000001")["amount"] == -40.000001
    assert "At most 59.999999 EUR" in refused(refund(**about, amount=60), "amount")
    assert (refund(**about)["amount"], refund(**about).status) == (-59.999999, 422)


def test_a_negative_adjustment_of_the_charge_is_the_same_refund(api, refund, decision):
    body = {"amount": "-0.02", "currency": "USD", "decisionId": decision, "externalId": "r-1"}
    made = api.post("/v1/revenue", body)
    again = refund(decisionId=decision, amount="0.02", externalId="r-1")
    assert (made.status, again.status, again["id"]) == (201, 200, made["id"])
    assert refund(decisionId=decision)["amount"] == -0.03


def test_a_refund_returns_to_the_wallet_that_paid(api, account, check, held, refund):
    wallet = factories.wallet(account, amount=2, requester_id="org_acme")["wallet"]
    refund(decisionId=check()["id"])
    assert api.get(f"/v1/wallets/{wallet}")["balance"] == 2
    other = ledger.add(held.account, "5", type="license", license=held, requester=held.requester)
    assert "100.00 EUR and 5.00 USD can be refunded" in refused(refund(licenseId=held.pk), "licenseId")
    assert refund(entryId=other.pk)["amount"] == -5
    assert refund(licenseId=held.pk)["amount"] == -100


def test_a_wrong_refund_is_refused_and_named(account, refund, held, price, decision):
    back = refund(entryId=price.pk, amount=1)["id"]
    gift, theirs = ledger.add(account, "-5").pk, ledger.add(factories.account(), "5").pk
    free = factories.license(account, "org_free").pk
    for body, param in (
        ({"entryId": back}, "entryId"), ({"entryId": gift}, "entryId"), ({"entryId": theirs}, "entryId"),
        ({"entryId": "x"}, "entryId"), ({"licenseId": NOBODY}, "licenseId"), ({"licenseId": free}, "amount"),
        ({"decisionId": decision, "amount": 0}, "amount"), ({"decisionId": decision, "amount": "-0.01"}, "amount"),
        ({"decisionId": decision, "currency": "USD"}, "currency"),
    ):  # fmt: skip
        refused(refund(**body), param)
    for body in ({}, {"decisionId": decision, "licenseId": held.pk}):
        assert "exactly one of entryId, licenseId and decisionId" in refund(**body).error["message"]
    unknown = f"led_{'0' * 26}"
    assert refund(entryId=unknown).error["message"].startswith(f"There is no ledger entry {unknown!r}")
    assert LedgerEntry.objects.filter(amount__lt=0).count() == 2


def test_the_same_refund_of_an_external_id_is_booked_once(refund, price, decision):
    body = {"licenseId": price.license_id, "amount": "12.5", "reason": "Late", "externalId": "r-1"}
    made, again = refund(**body), refund(**{**body, "amount": 12.500})
    assert (made.status, again.status, again["id"]) == (201, 200, made["id"])
    for change in (
        {"amount": 13}, {"amount": None}, {"reason": "Early"}, {"reason": None},
        {"licenseId": None, "decisionId": decision},
    ):  # fmt: skip
        other = refund(**{name: value for name, value in {**body, **change}.items() if value is not None})
        assert other.status_and_code == (409, "resource_already_exists")
        assert other.error["param"] == "externalId"
        assert made["id"] in other.error["message"]
    assert LedgerEntry.objects.filter(amount__lt=0).count() == 1


def test_an_adjustment_of_an_external_id_is_booked_once(api, account, held):
    item = factories.content(account)
    body = {
        "amount": "-5", "currency": "EUR", "requesterId": "org_acme", "contentId": item.pk, "licenseType": "press",
        "occurredAt": "2026-01-02T03:04:05Z", "description": "Goodwill", "externalId": "a-1",
    }  # fmt: skip
    made, again = api.post("/v1/revenue", body), api.post("/v1/revenue", {**body, "amount": -5})
    assert (made.status, again.status, again.body) == (201, 200, made.body)
    assert made["externalId"] == "a-1"
    for query, found in (
        ("externalId=a-1", [made["id"]]),
        ("externalId[startsWith]=a-", [made["id"]]),
        ("externalId[startsWith]=b", []),
    ):
        assert (query, [one["id"] for one in api.get(f"/v1/revenue?{query}")["data"]]) == (query, found)
    ledger.requester(account, "org_b")
    for name, value in {**body, "amount": "5", "currency": "USD", "requesterId": "org_b"}.items():
        changed = {key: one for key, one in body.items() if key != name}
        if name in ("amount", "currency", "requesterId"):
            changed[name] = value
        if name != "externalId":
            assert (name, api.post("/v1/revenue", changed).status) == (name, 409)
    assert LedgerEntry.objects.filter(type="adjustment").count() == 1


def test_a_refund_of_all_that_is_left_can_be_repeated_in_its_account(api, other_api, refund, price):
    body = {"amount": "5", "currency": "EUR", "externalId": "a-1"}
    assert [one.post("/v1/revenue", body).status for one in (api, other_api, api)] == [201, 201, 200]
    made = refund(entryId=price.pk, externalId="all")
    again = refund(entryId=price.pk, externalId="all")
    assert (made.status, again.status, again.body) == (201, 200, made.body)
    more = {"amount": "7", "currency": "EUR", "licenseId": price.license_id}
    assert api.post("/v1/revenue", more).status == 201
    late = refund(entryId=price.pk, externalId="all")
    assert (late.status, late["id"]) == (200, made["id"]), "then all that was left"
