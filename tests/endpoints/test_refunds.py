from decimal import Decimal

import pytest

from analytics.models import AccessEvent, LedgerEntry, TierRevenue
from analytics.rollups.roll_up import roll_up
from tests import factories


@pytest.fixture
def held(account):
    return factories.license(account, price_amount=Decimal(100), price_currency="EUR", per_access="0.05")


@pytest.fixture
def decision(check, held):
    return check()["id"]


@pytest.fixture
def refund(api):
    def post(amount, currency, **about):
        return api.post("/v1/revenue", {"amount": amount, "currency": currency, **about})

    return post


@pytest.fixture(params=["decision", "license"])
def charge(request, decision, held):
    """The field that names a charge, its amount and its currency."""
    if request.param == "decision":
        return {"decisionId": decision}, Decimal("0.05"), "USD"
    return {"licenseId": held.pk}, Decimal(100), "EUR"


def refused(reply, param="amount"):
    assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", param)
    return reply.error["message"]


def test_a_charge_is_refunded_although_its_decision_was_purged(refund, decision):
    AccessEvent.objects.all().delete()
    assert refund("-0.05", "USD", decisionId=decision).status == 201
    refused(refund("-0.05", "USD", decisionId=decision))


def test_a_refund_above_the_rest_names_the_rest(refund, charge):
    about, amount, currency = charge
    assert f"was charged in {currency}, not in GBP" in refused(refund("-0.01", "GBP", **about), "currency")
    part = amount / 5
    assert refund(str(-part), currency, **about).status == 201
    left = f"{(amount - part):.2f} {currency}"
    assert f"At most {left} can be refunded" in refused(refund(str(-amount), currency, **about))
    assert refund(str(Decimal("0.000001") - amount + part), currency, **about).status == 201
    assert "0.000001" in refused(refund("-0.000002", currency, **about))
    assert refund("-0.000001", currency, **about).status == 201
    assert "At most 0.00" in refused(refund("-0.000001", currency, **about))
    assert LedgerEntry.objects.filter(type="adjustment").count() == 3


def test_the_price_of_a_licence_and_its_accesses_are_refunded_apart(refund, decision, held):
    assert refund("-100", "EUR", licenseId=held.pk).status == 201
    assert refund("-0.05", "USD", decisionId=decision).status == 201
    refused(refund("-0.05", "USD", decisionId=decision, licenseId=held.pk))
    refused(refund("-0.05", "USD", licenseId=held.pk), "currency")


def test_an_amount_added_to_a_charge_or_to_a_refund_can_be_refunded_too(refund, charge):
    about, amount, currency = charge
    for added in (1, -amount - 1, amount, -amount):
        assert refund(str(added), currency, **about).status == 201
        if added < 0:
            refused(refund("-0.01", currency, **about))


def test_only_a_charge_limits_its_refunds(refund, check, account):
    for about in ({}, {"requesterId": factories.requester(account).requester_id}):
        assert refund("-1000", "EUR", **about).status == 201
    item = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)
    made = check(contentId=item.pk, requester="org_b")
    assert "was not charged" in refused(refund("-0.01", "USD", decisionId=made["id"]))


def test_a_charge_that_names_no_other_is_refunded_by_its_entry(api, refund, account):
    customer = factories.requester(account).requester_id
    sold = refund("3", "EUR", requesterId=customer)["id"]
    half = {"entryId": sold, "amount": "1", "externalId": "note-1"}
    for status in (201, 200):
        assert api.post("/v1/refunds", half).status == status
    rest = api.post("/v1/refunds", {"entryId": sold})
    assert (rest.status, rest["amount"], rest["feeId"], rest["requesterId"]) == (201, -2, sold, customer)
    assert "At most 0.00 EUR" in refused(api.post("/v1/refunds", {"entryId": sold, "amount": "1"}))
    assert "this entry refunds one" in refused(api.post("/v1/refunds", {"entryId": rest["id"]}), "entryId")
    assert refund("2", "EUR", feeId=sold).status == 201  # undoes a refund
    assert api.get(f"/v1/revenue/{sold}")["refundable"] == 2


@pytest.mark.parametrize(
    "terms", [{}, {"price_amount": Decimal(0), "price_currency": "EUR"}, {"per_access": "0.05"}], ids=str
)
def test_only_a_sale_added_to_a_licence_without_a_price_can_be_refunded(account, check, refund, terms):
    free = factories.license(account, "org_free", **terms)
    check(requester="org_free")
    before = LedgerEntry.objects.count()
    for currency in ("EUR", "USD"):
        assert "was not charged" in refused(refund("-0.01", currency, licenseId=free.pk))
    assert LedgerEntry.objects.count() == before
    assert refund("10", "EUR", licenseId=free.pk).status == 201
    refused(refund("-10", "USD", licenseId=free.pk), "currency")
    assert refund("-10", "EUR", licenseId=free.pk).status == 201
    assert "At most 0.00 EUR" in refused(refund("-10", "EUR", licenseId=free.pk))


def test_an_amount_above_the_rest_of_an_undone_refund_names_the_charge_as_it_was(refund, held):
    assert refund("-20", "EUR", licenseId=held.pk).status == 201
    assert refund("20", "EUR", licenseId=held.pk).status == 201
    said = refused(refund("-101", "EUR", licenseId=held.pk))
    assert "At most 100.00 EUR can be refunded." in said
    assert "was charged 100.00 EUR and later 20.00 EUR more, of which 20.00 EUR was refunded." in said


def test_a_charge_shows_its_refunded_and_remaining_amounts(api, refund, charge):
    about, amount, currency = charge
    entry = api.get("/v1/revenue", **{"type[ne]": "adjustment", "currency": currency})["data"][0]
    assert (entry["refunded"], Decimal(str(entry["refundable"]))) == (0, amount)
    made = refund("-0.01", currency, **about)
    assert (made["refunded"], made["refundable"]) == (None, None)
    shown = api.get(f"/v1/revenue/{entry['id']}")
    assert (shown["refunded"], Decimal(str(shown["refundable"]))) == (0.01, amount - Decimal("0.01"))
    assert api.get("/v1/revenue", **{"type[ne]": "adjustment", "currency": currency})["data"] == [shown.body]


def test_a_decision_and_the_ledger_show_the_refunds_of_its_charge(api, refund, decision):
    made = [refund("-0.01", "USD", decisionId=decision)["id"] for _ in range(2)]
    refund("-1", "EUR")
    shown = api.get(f"/v1/access/decisions/{decision}")["charge"]
    assert shown == {"amount": 0.05, "currency": "USD", "refunded": 0.02, "refundable": 0.03}
    listed = api.get("/v1/revenue", decisionId=decision)
    assert [one["id"] for one in listed["data"]] == [*reversed(made), f"led_{decision.removeprefix('dec_')}"]


def test_a_price_cannot_fall_below_its_refunds(api, refund, held):
    refund("-40", "EUR", licenseId=held.pk)
    for price in ({"amount": "39.99", "currency": "EUR"}, {"amount": "100", "currency": "USD"}, None):
        message = refused(api.patch(f"/v1/licenses/{held.pk}", {"price": price}), "price")
        assert "40.00 EUR of the price was refunded" in message
    bulk = {"items": [{"id": held.pk, "price": None}, {"id": held.pk, "licenseType": "press"}]}
    assert [row["status"] for row in api.post("/v1/licenses/bulk", bulk)["data"]] == [422, 200]
    assert api.patch(f"/v1/licenses/{held.pk}", {"price": {"amount": "40", "currency": "EUR"}}).status == 200
    refused(refund("-0.01", "EUR", licenseId=held.pk))
    roll_up()
    assert sum(one.amount for one in TierRevenue.objects.filter(currency="EUR")) == 0


def test_a_licence_whose_price_was_refunded_can_change_otherwise(api, refund, held):
    refund("-100", "EUR", licenseId=held.pk)
    assert api.patch(f"/v1/licenses/{held.pk}", {"licenseType": "enterprise"}).status == 200
    assert api.patch(f"/v1/licenses/{held.pk}", {"price": {"amount": "150", "currency": "EUR"}}).status == 200
    assert refund("-50", "EUR", licenseId=held.pk).status == 201


def test_an_undone_refund_leaves_credit_until_its_grant_is_voided(api, refund, held, check, account):
    wallet = f"/v1/wallets/{factories.wallet(account, amount='0.05', requester_id='org_acme')['wallet']}"
    paid = check()["id"]
    for amount in ("-0.05", "0.05"):
        assert refund(amount, "USD", decisionId=paid).status == 201
    [returned] = [one for one in api.get(f"{wallet}/grants")["data"] if one["kind"] == "refund"]
    assert api.get(wallet)["balance"] == 0.05
    api.post(f"{wallet}/grants/{returned['id']}/void")
    assert api.get(wallet)["balance"] == 0
    assert refund("-0.05", "USD", decisionId=paid).status == 201
    assert api.get(wallet)["balance"] == 0.05


@pytest.mark.parametrize("named", ["org_acme", "org_acme_inc", "org_twin", None])
def test_a_refund_goes_to_the_customer_that_the_charged_one_was_merged_into(api, refund, charge, named):
    about, amount, currency = charge
    for one in ("org_acme_inc", "org_twin", "org_other"):
        api.post("/v1/requesters", {"id": one})
    for one in ("org_acme", "org_twin"):
        assert api.post(f"/v1/requesters/{one}/merge", {"into": "org_acme_inc"}).status == 200
    who = {} if named is None else {"requesterId": named}
    assert refund(str(-amount), currency, **about, **who)["requesterId"] == "org_acme_inc"
    assert "Leave requesterId out" in refused(
        refund("-0.01", currency, **about, requesterId="org_other"), "requesterId"
    )
