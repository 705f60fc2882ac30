from decimal import Decimal

import pytest

from analytics.models import LedgerEntry, TierRevenue
from analytics.rollups.roll_up import roll_up
from licensing.requesters.models import Requester
from tests import factories

BODY = {"requesterId": "org_acme", "licenseType": "commercial"}


@pytest.fixture
def create(api):
    def send(**fields):
        return api.post("/v1/licenses", {**BODY, **fields})

    return send


def test_a_licence_needs_a_requester_and_a_type_and_covers_everything(create, clock):
    reply = create()
    now = "2026-03-04T05:06:07.250000Z"
    assert (reply.status, reply["id"][:4]) == (201, "lic_")
    assert reply.body == {
        "id": reply["id"], "object": "license", "requesterId": "org_acme", "requesterName": None,
        "licenseType": "commercial", "contentIds": [], "tags": [], "policyIds": [], "startsAt": now, "expiresAt": None,
        "price": None, "pricePerAccess": None, "fee": None, "nextFeeAt": None, "status": "active", "revokedAt": None,
        "created": now, "updated": now, "externalId": None, "metadata": {},
    }  # fmt: skip


def test_every_field_is_kept(create, api, account):
    fields = {
        "requesterName": "Acme", "contentIds": [factories.content(account).pk, factories.content(account).pk],
        "tags": ["law", "tax"], "policyIds": [factories.policy(account).pk], "startsAt": "2026-01-31T09:00:00.000001Z",
        "expiresAt": "2999-01-31T00:00:00.000000Z", "price": {"amount": 1200.5, "currency": "EUR"},
        "pricePerAccess": {"amount": 0.000001, "currency": "JPY"},
    }  # fmt: skip
    reply = create(**fields)
    assert {name: reply[name] for name in fields} == fields
    assert api.get(f"/v1/licenses/{reply['id']}").body == reply.body


def test_a_wrong_or_missing_value_is_named(api, create):
    for name in ["requesterId", "licenseType"]:
        reply = api.post("/v1/licenses", {key: value for key, value in BODY.items() if key != name})
        assert reply.status_and_param == (422, name)
    for fields, param in [
        ({"requesterId": ""}, "requesterId"), ({"requesterId": "x" * 256}, "requesterId"),
        ({"requesterName": " "}, "requesterName"), ({"licenseType": " "}, "licenseType"),
        ({"licenseType": "x" * 101}, "licenseType"), ({"tags": ["x"] * 51}, "tags"), ({"tags": ["x", ""]}, "tags[1]"),
        ({"tags": ["x" * 101]}, "tags[0]"), ({"contentIds": ["x"] * 1001}, "contentIds"),
        ({"contentIds": ["x"]}, "contentIds[0]"), ({"contentIds": [OTHER]}, "contentIds[0]"),
        ({"policyIds": ["x"] * 101}, "policyIds"), ({"policyIds": [OTHER]}, "policyIds[0]"),
        ({"startsAt": "tomorrow"}, "startsAt"), ({"startsAt": "2026-01-01T00:00:00"}, "startsAt"),
        ({"startsAt": "0202-01-01"}, "startsAt"), ({"startsAt": "1999-12-31T23:59:59.999999Z"}, "startsAt"),
        ({"startsAt": "3000-01-01"}, "startsAt"), ({"startsAt": "9999-12-31"}, "startsAt"),
        ({"expiresAt": "2001-01-01"}, "expiresAt"),
        ({"startsAt": "2026-01-01", "expiresAt": "2026-01-01"}, "expiresAt"),
        ({"price": {"amount": -1, "currency": "EUR"}}, "price.amount"),
        ({"price": {"amount": "0.0000001", "currency": "EUR"}}, "price.amount"),
        ({"price": {"amount": 1000000000000.1, "currency": "EUR"}}, "price.amount"),
        ({"price": {"amount": 1}}, "price.currency"), ({"price": {"currency": "EUR"}}, "price.amount"),
        ({"price": {"amount": 1, "currency": "eur"}}, "price.currency"),
        ({"price": {"amount": 1, "currency": "XXX"}}, "price.currency"),
        ({"price": {"amount": 1, "currency": "EUR", "tax": 1}}, "price.tax"),
        ({"pricePerAccess": {"amount": "-0.01", "currency": "EUR"}}, "pricePerAccess.amount"),
    ]:  # fmt: skip
        reply = create(**fields)
        assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", param)
    assert Requester.objects.count() == 0


OTHER = "cnt_00000000000000000000000000"


def test_items_and_policies_must_exist_in_the_account(create, account, other_account, api):
    mine, theirs = factories.content(account).pk, factories.content(other_account).pk
    assert create(contentIds=[mine, mine, theirs]).error["param"] == "contentIds[2]"
    assert create(policyIds=[factories.policy(other_account).pk]).error["param"] == "policyIds[0]"
    api.delete(f"/v1/content/{mine}")
    assert create(contentIds=[mine]).error["param"] == "contentIds[0]"
    items = [factories.content(account).pk for _ in range(3)]
    assert create(contentIds=items * 333 + items[:1])["contentIds"] == items


def test_times_are_rfc_3339_and_shown_in_utc(create):
    for sent, shown in [
        ("2026-12-01t10:00:00z", "2026-12-01T10:00:00.000000Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000000Z"),
        ("2017-01-01t01:59:60.5+02:00", "2017-01-01T00:00:00.000000Z"),
    ]:
        assert create(startsAt=sent)["startsAt"] == shown
    for sent in ["2016-12-31T22:59:60Z", "2016-12-31T23:58:60Z", "9999-12-31T23:59:60Z"]:
        assert create(startsAt=sent).error["param"] == "startsAt"
    assert create(startsAt="2020-01-01", expiresAt="2021-01-01")["status"] == "expired"
    assert create(startsAt="2000-01-01", expiresAt="2001-01-01")["status"] == "expired"
    assert create(startsAt="2999-12-31T23:59:59.999999Z")["status"] == "active"


def test_the_price_enters_the_ledger_once_at_the_start(api, create):
    for price in [None, {"amount": 0, "currency": "EUR"}]:
        assert create(price=price).status == 201
        assert LedgerEntry.objects.count() == 0
    body = {**BODY, "startsAt": "2026-01-31", "price": {"amount": "1200.10", "currency": "EUR"}}
    reply, replay = (api.post("/v1/licenses", body, headers={"Idempotency-Key": "one"}) for _ in range(2))
    assert reply.body == replay.body
    [entry] = LedgerEntry.objects.all()
    assert (entry.type, entry.amount, entry.currency) == ("license", Decimal("1200.1"), "EUR")
    assert (entry.license_id, entry.license_type) == (reply["id"], "commercial")
    assert entry.occurred_at.isoformat() == "2026-01-31T00:00:00+00:00"
    assert entry.requester.requester_id == "org_acme"
    roll_up()
    total = TierRevenue.objects.get()
    assert (str(total.day), total.license_type, total.amount) == ("2026-01-31", "commercial", Decimal("1200.1"))


def test_an_amount_keeps_its_digits_as_a_number_and_as_a_string(api):
    for digits in ["0.1", "0.000001", "999999999999.999999", "1000000000000", "123456789.123456"]:
        for spelled in (digits, f'"{digits}"'):
            price = f'{{"amount": {spelled}, "currency": "EUR"}}'
            reply = api.post(
                "/v1/licenses", f'{{"requesterId": "org", "licenseType": "x", "price": {price}}}'.encode()
            )
            assert f'"amount":{digits},'.encode() in reply.content
            assert str(LedgerEntry.objects.latest("id").amount.normalize()) == str(Decimal(digits).normalize())
