from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

import pytest
from django.db.models import Sum

from analytics.models import LedgerEntry, RequesterRevenue, TierRevenue
from analytics.rollups.roll_up import roll_up
from licensing.licenses.models import License
from tests import factories
from tests.client import ApiClient
from tests.lock_waits import at_once

BODY = {
    "requesterId": "org_acme", "requesterName": "Acme", "licenseType": "commercial", "tags": ["law"],
    "startsAt": "2026-01-31", "expiresAt": "2999-01-31", "price": {"amount": "12.5", "currency": "EUR"},
    "pricePerAccess": {"amount": "0.05", "currency": "EUR"},
}  # fmt: skip


@pytest.fixture
def held(api):
    return api.post("/v1/licenses", BODY).body


@pytest.fixture
def change(api, held):
    def send(**fields):
        return api.patch(f"/v1/licenses/{held['id']}", fields)

    return send


@pytest.fixture
def revoke(api, held):
    def send(body=None, **options):
        return api.post(f"/v1/licenses/{held['id']}/revoke", body, **options)

    return send


def booked():
    """Return the sums of the ledger's `license` entries by day, currency and type."""
    sums: Counter = Counter()
    for entry in LedgerEntry.objects.filter(type="license"):
        sums[str(entry.occurred_at.date()), entry.currency, entry.license_type] += entry.amount
    return {key: str(amount) for key, amount in sums.items() if amount}


def test_a_patch_keeps_the_other_fields_and_a_start_that_was_taken_once_can_be_sent_back(held, change):
    reply = change(licenseType="enterprise", tags=["tax"])
    assert reply.status == 200
    assert reply.body == {**held, "licenseType": "enterprise", "tags": ["tax"], "updated": reply["updated"]}
    assert reply["updated"] > held["updated"]
    License.objects.update(starts_at=datetime(1999, 1, 1, tzinfo=UTC))
    assert change(startsAt="1999-01-01", tags=["tax"])["startsAt"] == "1999-01-01T00:00:00.000000Z"
    assert change(startsAt="1999-01-02").status == 422


def test_a_licence_can_be_sent_back_although_its_items_were_deleted(api, account, change):
    item, policy, other = factories.content(account).pk, factories.policy(account).pk, factories.content(account).pk
    held = change(contentIds=[item], policyIds=[policy]).body
    for path in (f"/v1/content/{item}", f"/v1/policies/{policy}", f"/v1/content/{other}"):
        assert api.delete(path).status == 200
    assert change(**held).body["contentIds"] == [item]
    assert change(policyIds=[policy])["policyIds"] == [policy]
    assert change(contentIds=[item, other]).status_and_param == (422, "contentIds[1]")
    assert change(contentIds=[])["contentIds"] == []
    assert change(contentIds=[item]).status == 422


def test_a_wrong_value_is_named_and_changes_nothing(change, api, held):
    for fields, param in [
        ({"requesterId": "org_b"}, "requesterId"), ({"startsAt": "0202-01-01"}, "startsAt"),
        ({"expiresAt": "2026-01-31"}, "expiresAt"), ({"startsAt": "2999-02-01"}, "expiresAt"),
        ({"contentIds": ["cnt_x"]}, "contentIds[0]"), ({"price": {"amount": 5}}, "price.currency"),
        ({"price": {"currency": "EUR"}}, "price.amount"), ({"licenseType": None}, "licenseType"),
    ]:  # fmt: skip
        assert change(**fields).status_and_param == (422, param)
    assert api.get(f"/v1/licenses/{held['id']}").body == held


def test_it_expires_by_itself(change, api, held, clock):
    change(expiresAt="2026-03-05")
    assert api.get(f"/v1/licenses/{held['id']}")["status"] == "active"
    clock.set("2026-03-05T00:00:00Z")
    assert api.get(f"/v1/licenses/{held['id']}")["status"] == "expired"
    assert change(expiresAt="2026-03-06")["status"] == "active"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"price": {"amount": 20, "currency": "EUR"}}, {("2026-01-31", "EUR", "commercial"): "20.000000"}),
        ({"price": {"amount": 20, "currency": "USD"}}, {("2026-01-31", "USD", "commercial"): "20.000000"}),
        ({"price": None}, {}),
        ({"startsAt": "2026-02-01"}, {("2026-02-01", "EUR", "commercial"): "12.500000"}),
        ({"licenseType": "enterprise"}, {("2026-01-31", "EUR", "enterprise"): "12.500000"}),
    ],
)
def test_the_ledger_adds_up_to_the_terms_of_the_licence(change, fields, expected):
    [first] = LedgerEntry.objects.all()
    change(**fields)
    assert booked() == expected
    assert LedgerEntry.objects.earliest("id") == first
    roll_up()
    totals = TierRevenue.objects.values_list("day", "currency", "license_type").annotate(Sum("amount"))
    assert {(str(day), currency, tier): str(total) for day, currency, tier, total in totals if total} == expected


def test_the_ledger_follows_only_price_start_and_type(change):
    for fields in [{"expiresAt": "2999-02-01"}, {"price": {"amount": "12.500", "currency": "EUR"}}, {"tags": []}, {}]:
        assert change(**fields).status == 200
        assert LedgerEntry.objects.count() == 1
    change(price=None)
    change(price={"amount": "3", "currency": "EUR"})
    assert booked() == {("2026-01-31", "EUR", "commercial"): "3.000000"}


def test_a_revoked_licence_says_so_and_stays_as_it_is(revoke, api, held, clock, change):
    moment = "2026-03-04T05:06:07.250000Z"
    revoked = {**held, "status": "revoked", "revokedAt": moment, "updated": moment}
    for body in (None, None, {}):
        reply = revoke(body)
        assert (reply.status, reply.body) == (200, revoked)
    assert revoke({"reason": "x"}).status_and_param == (422, "reason")
    assert change(expiresAt="2998-01-01").status_and_code == (409, "resource_revoked")
    assert api.get(f"/v1/licenses/{held['id']}").body == revoked
    assert booked() == {("2026-01-31", "EUR", "commercial"): "12.500000"}
    roll_up()
    assert RequesterRevenue.objects.get().amount == Decimal("12.5")


def test_a_check_follows_every_step_of_a_licences_life(api, account, clock):
    item = factories.content(account, policy_id=factories.policy(account).pk, tags=["law"]).pk

    def reason():
        return api.post("/v1/access/check", {"contentId": item, "requester": "org_acme"})["reason"]

    assert reason() == "no_license"
    path = "/v1/licenses/" + api.post("/v1/licenses", {**BODY, "startsAt": "2026-03-05"})["id"]
    assert reason() == "no_license"
    clock.set("2026-03-05T00:00:00Z")
    assert reason() is None
    api.patch(path, {"tags": ["tax"]})
    assert reason() == "no_license"
    api.patch(path, {"tags": None, "expiresAt": "2026-03-06"})
    assert reason() is None
    clock.set("2026-03-06T00:00:00Z")
    assert reason() == "license_expired"
    api.patch(path, {"expiresAt": None})
    assert reason() is None
    api.post(f"{path}/revoke")
    assert reason() == "no_license"


def test_simultaneous_changes_leave_a_ledger_that_adds_up(transactional_db):
    account = factories.account()
    api = ApiClient(factories.key_text(account))
    path = "/v1/licenses/" + api.post("/v1/licenses", BODY)["id"]

    def change(worker):
        for n in range(5):
            price = {"amount": worker + n, "currency": "EUR"}
            assert api.patch(path, {"price": price, "startsAt": f"2026-02-0{worker + 1}"}).status == 200

    at_once(*(partial(change, worker) for worker in range(4)))
    held = api.get(path)
    assert LedgerEntry.objects.count() > 20
    price = f"{held['price']['amount']}.000000"
    assert booked() == ({(held["startsAt"][:10], "EUR", "commercial"): price} if held["price"]["amount"] else {})
