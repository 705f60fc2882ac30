import csv
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from analytics.models import LedgerEntry, TierRevenue
from analytics.rollups.roll_up import roll_up
from tests import auditlog, factories, ledger

SALE = {"amount": "19.99", "currency": "EUR", "description": "Sold at the fair"}
REFUND = {"amount": "-1", "currency": "USD"}
IDS = ("licenseId", "licenseType", "feeId", "decisionId", "contentId", "requesterId")


@pytest.fixture
def decision(check, account):
    """A decision that was charged 1 USD."""
    factories.license(account, per_access="1")
    return check().body


def test_an_adjustment_comes_back_with_every_field_and_is_audited(api, clock):
    made = api.post("/v1/revenue", SALE)
    assert made.status == 201
    moment = "2026-03-04T05:06:07.250000Z"
    none = dict.fromkeys((*IDS, "contentTitle", "requesterName", "externalId"))
    assert made.body == {
        **none, **SALE, "id": made["id"], "object": "ledger_entry", "type": "adjustment", "amount": 19.99,
        "occurredAt": moment, "created": moment, "refunded": 0, "refundable": 19.99,
    }  # fmt: skip
    assert made["id"].startswith("led_")
    assert api.get(f"/v1/revenue/{made['id']}").body == made.body
    assert api.get("/v1/revenue")["data"] == [made.body]
    [entry] = auditlog.entries(resource_id=made["id"])
    assert (entry.action, entry.changes["amount"]) == ("ledger_entry.created", [None, "19.99"])


@pytest.mark.parametrize("amount", ["0.1", "-0.000001", "999999999999.999999", "-1000000000000", "12", "1e2"])
def test_an_amount_is_exact_from_the_body_to_the_reply(api, amount):
    body = b'{"amount": %s, "currency": "EUR", "description": "x"}' % amount.encode()
    made = api.post("/v1/revenue", body)
    sent = made.content.decode().partition('"amount":')[2].partition(",")[0]
    assert (Decimal(sent), LedgerEntry.objects.get().amount) == (Decimal(amount), Decimal(amount))


def test_a_wrong_field_is_refused_and_named(api):
    for amount in [b"0", b'"0.00"', b"-0.0", b"0.0000001", b"1000000000000.01", b"1e300", b"null"]:
        reply = api.post("/v1/revenue", b'{"currency": "EUR", "description": "x", "amount": %s}' % amount)
        assert reply.status_and_param == (422, "amount")
    for field, value in [
        ("currency", "eur"), ("currency", "XAU"), ("currency", ""), ("description", ""), ("description", "x" * 501),
        ("licenseType", ""), ("licenseType", "x" * 101), ("occurredAt", "2026-01-01T00:00:00"),
        ("licenseId", "lic_" + "0" * 26), ("contentId", "cnt_" + "0" * 26), ("contentId", "nonsense"),
        ("decisionId", "dec_" + "0" * 26), ("requesterId", "nobody"),
    ]:  # fmt: skip
        reply = api.post("/v1/revenue", {**SALE, field: value})
        assert reply.status_and_param == (422, field)
    for field in ["amount", "currency"]:
        reply = api.post("/v1/revenue", {name: value for name, value in SALE.items() if name != field})
        assert reply.status_and_param == (422, field)
    assert LedgerEntry.objects.count() == 0


def test_an_adjustment_has_a_moment_and_maybe_a_description(api, clock):
    for moment, message in [
        ("2999-01-01", "Must not be in the future."), ("2026-03-04T05:07:08Z", "Must not be in the future."),
        ("1999-12-31T23:59:59Z", "Must not be before 2000-01-01."),
    ]:  # fmt: skip
        reply = api.post("/v1/revenue", {**SALE, "occurredAt": moment})
        assert (reply.status, reply.error["param"], reply.error["message"]) == (422, "occurredAt", message)
    for moment in ("2000-01-01", "2026-03-04T05:07:07Z"):
        assert api.post("/v1/revenue", {**SALE, "occurredAt": moment}).status == 201
    assert api.post("/v1/revenue", {"amount": "1", "currency": "EUR"})["description"] is None


def test_an_adjustment_names_only_the_references_of_its_charge(api, account, decision, other_api):
    ledger.requester(account, "org_other")
    same = {"requesterId": "org_acme", "contentId": decision["contentId"], "licenseType": "commercial"}
    other = {"requesterId": "org_other", "contentId": factories.content(account).pk, "licenseType": "banana"}
    for amount in ["-1", "1"]:
        for field, value in other.items():
            reply = api.post("/v1/revenue", {**REFUND, "amount": amount, "decisionId": decision["id"], field: value})
            assert reply.status_and_param == (422, field)
            assert reply.error["message"] == f"The charge has '{same[field]}'. Leave {field} out."
    assert LedgerEntry.objects.count() == 1
    theirs = {"contentId": decision["contentId"], "decisionId": decision["id"], "requesterId": "org_acme"}
    for field, value in theirs.items():
        assert other_api.post("/v1/revenue", {**SALE, field: value}).status_and_param == (422, field)
    assert api.post("/v1/revenue", {**REFUND, "decisionId": decision["id"], **same}).status == 201


def test_an_adjustment_of_a_licence_cannot_name_another_customer(api, account):
    held = factories.license(account, "org_acme", price_amount=Decimal(10), price_currency="USD")
    ledger.requester(account, "org_other")
    for amount in ["-1", "1"]:
        about = {"licenseId": held.pk, "requesterId": "org_other"}
        assert api.post("/v1/revenue", {**REFUND, "amount": amount, **about}).status_and_param == (422, "requesterId")


def test_a_retried_adjustment_of_deleted_content_counts_once_on_the_day_it_occurred(api, item):
    api.delete(f"/v1/content/{item.pk}")
    sale = {**SALE, "contentId": item.pk, "occurredAt": "2026-01-01T00:30:00+02:00"}
    first, again = (api.post("/v1/revenue", sale, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status, again.status, again.body) == (201, 201, first.body)
    assert again.headers["Idempotent-Replayed"] == "true"
    roll_up()
    total = TierRevenue.objects.get()
    assert (total.day, total.amount) == (datetime(2025, 12, 31, tzinfo=UTC).date(), Decimal("19.99"))


def test_amounts_that_one_float_would_hold_are_not_taken_for_a_retry(api):
    def post(amount):
        body = b'{"amount": %s, "currency": "EUR", "description": "x"}' % amount
        return api.post("/v1/revenue", body, headers={"Idempotency-Key": "k"})

    assert post(b"999999999999.999998").status == 201
    assert post(b"999999999999.999999").error["code"] == "idempotency_mismatch"
    assert post(b"999999999999.9999980").headers["Idempotent-Replayed"] == "true"


def test_a_total_beyond_the_range_of_the_database_is_refused_or_exact(api):
    added = [api.post("/v1/revenue", {**SALE, "amount": 10**12}).status for _ in range(12)]
    assert set(added) <= {201, 422}
    roll_up()
    assert TierRevenue.objects.get().amount == added.count(201) * 10**12


def test_an_entry_names_its_requester_and_its_item_beside_their_ids(api, account):
    api.post("/v1/requesters", {"id": "org_acme", "name": "Acme"})
    item = api.post("/v1/content", {"title": "Markets"})["id"]
    named = api.post("/v1/revenue", {"amount": 5, "currency": "EUR", "requesterId": "org_acme", "contentId": item})
    api.post("/v1/revenue", {"amount": 6, "currency": "EUR"})
    api.delete(f"/v1/content/{item}")  # its title stays
    api.patch("/v1/requesters/org_acme", {"name": "Acme Ltd"})
    assert (named["requesterName"], named["contentTitle"]) == ("Acme", "Markets")
    assert api.get(f"/v1/revenue/{named['id']}")["requesterName"] == "Acme Ltd"
    unnamed, shown = api.get("/v1/revenue")["data"]
    assert (unnamed["requesterName"], unnamed["contentTitle"]) == (None, None)
    assert (shown["requesterName"], shown["contentTitle"]) == ("Acme Ltd", "Markets")
    [_, row] = csv.DictReader(api.get("/v1/revenue?format=csv").content.decode().splitlines())
    assert (row["requesterName"], row["contentTitle"]) == ("Acme Ltd", "Markets")
