from decimal import Decimal

import pytest
from django.db.models import Sum

from analytics.models import LedgerEntry, RequesterRevenue, TierRevenue
from analytics.rollups.roll_up import roll_up
from kit.http.errors import ValidationFailed
from licensing.licenses import bulk, charges
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from tests import auditlog
from tests.endpoints.bulk_rows import params, statuses
from tests.endpoints.license_rows import NEW, PRICE, send

OWN = {"id", "startsAt", "created", "updated"}


def booked():
    """Return the ledger's entries, after checking that its daily totals match."""
    total = LedgerEntry.objects.aggregate(sum=Sum("amount"))["sum"] or Decimal(0)
    roll_up()
    for totals in (TierRevenue, RequesterRevenue):
        assert (totals.objects.aggregate(sum=Sum("amount"))["sum"] or 0) == total
    return total


def test_a_row_with_an_id_changes_that_licence(api):
    held = api.post("/v1/licenses", {**NEW, "price": PRICE, "tags": ["a"]}).body
    row = {"id": held["id"], "requesterName": "Acme", "tags": ["b"], "price": {"amount": 20, "currency": "USD"}}
    reply = send(api, row)
    assert statuses(reply) == [200]
    changed = api.get(f"/v1/licenses/{held['id']}").body
    assert reply["data"][0]["license"] == changed
    assert (changed["requesterName"], changed["tags"], changed["price"]["amount"]) == ("Acme", ["b"], 20)
    assert changed["updated"] > held["updated"]
    held = api.post("/v1/licenses", NEW)["id"]
    reply = send(api, {"id": held, "tags": ["first"]}, {"id": held, "tags": ["second"]})
    assert (statuses(reply), params(reply)) == ([200, 409], [None, "id"])
    assert api.get(f"/v1/licenses/{held}")["tags"] == ["first"]
    revoked, held = (api.post("/v1/licenses", NEW)["id"] for _ in range(2))
    api.post(f"/v1/licenses/{revoked}/revoke")
    reply = send(api, {"id": revoked, "tags": ["a"]}, {"id": held, "requesterId": "other"})
    assert (statuses(reply), params(reply)) == ([409, 422], [None, "requesterId"])
    assert reply["data"][0]["error"]["code"] == "resource_revoked"


def test_a_row_issues_or_changes_a_licence_as_a_single_request_does(api, other_api):
    held = api.post("/v1/licenses", {**NEW, "price": PRICE}).body
    known = len(auditlog.entries())
    reply = send(api, held)
    assert (statuses(reply), reply["data"][0]["license"]) == ([200], held)
    assert (len(auditlog.entries()), booked()) == (known, Decimal("12.5"))
    row = {**NEW, "requesterName": "Acme", "tags": ["a", "a"], "price": PRICE, "pricePerAccess": PRICE}
    [made] = send(api, row)["data"]
    in_bulk, alone = (
        {name: value for name, value in one.items() if name not in OWN}
        for one in (made["license"], other_api.post("/v1/licenses", row).body)
    )
    assert in_bulk == alone
    assert api.get(f"/v1/licenses/{made['license']['id']}").body == made["license"]


def test_prices_are_booked_once_and_corrected_where_they_change(api):
    rows = [{**NEW, "requesterId": f"org_{n}", "price": PRICE} for n in range(3)]
    reply = send(api, *rows, {}, headers={"Idempotency-Key": "k"})
    assert statuses(reply) == [201, 201, 201, 422]
    again = send(api, *rows, {}, headers={"Idempotency-Key": "k"})
    assert (again.body, again.headers["Idempotent-Replayed"]) == (reply.body, "true")
    made = [one["license"] for one in reply["data"][:3]]
    assert (booked(), LedgerEntry.objects.count()) == (Decimal("37.5"), 3)
    charged = LedgerEntry.objects.values_list("license", "requester__requester_id")
    assert set(charged) == {(one["id"], one["requesterId"]) for one in made}
    lower = {"id": made[0]["id"], "price": {"amount": "2.50", "currency": "EUR"}}
    send(api, lower, {"id": made[1]["id"], "price": None})
    assert (booked(), LedgerEntry.objects.count()) == (Decimal(15), 6)


@pytest.mark.parametrize(("row", "param"), [
    ({}, "requesterId"), ({"requesterId": "org"}, "licenseType"), ({**NEW, "nonsense": 1}, "nonsense"),
    ({**NEW, "price": {"amount": -1, "currency": "EUR"}}, "price.amount"),
    ({"licenseType": "", "tags": 1}, "requesterId"),
    ({**NEW, "contentIds": ["cnt_" + "0" * 26]}, "contentIds[0]"), ({**NEW, "policyIds": ["x"]}, "policyIds[0]"),
    ({**NEW, "startsAt": "1999-01-01"}, "startsAt"), ({"id": "lic_" + "0" * 26, "tags": []}, "id"),
    ({**NEW, "startsAt": "2026-01-02", "expiresAt": "2026-01-01"}, "expiresAt"), ({"id": "x"}, "id"),
    ({"id": 7}, "id"),
])  # fmt: skip
def test_a_row_fails_alone_with_the_error_of_a_single_request(api, row, param):
    reply = send(api, {**NEW, "price": PRICE}, row, {**NEW, "requesterId": "after", "price": PRICE})
    assert (statuses(reply), params(reply)) == ([201, 422, 201], [None, param, None])
    assert (License.objects.count(), booked()) == (2, 25)
    assert set(Requester.objects.values_list("requester_id", flat=True)) == {"org_acme", "after"}
    if "id" not in row:
        assert reply["data"][1]["error"] == api.post("/v1/licenses", row).error


def test_the_licences_of_others_are_out_of_reach(api, other_api):
    theirs = other_api.post("/v1/licenses", NEW).body
    item = other_api.post("/v1/content", {"title": "theirs"})["id"]
    assert statuses(send(api, {"id": theirs["id"], "tags": ["mine"]}, {**NEW, "contentIds": [item]})) == [422, 422]
    assert other_api.get(f"/v1/licenses/{theirs['id']}").body == theirs


def test_each_row_that_changes_something_leaves_an_audit_entry_and_an_event(api):
    held = api.post("/v1/licenses", NEW)["id"]
    known = len(auditlog.entries())
    send(api, NEW, {"id": held, "tags": ["a"]}, {"id": held, "tags": ["b"]}, {})
    created, updated = auditlog.entries()[known:]
    assert (created.action, created.changes["requesterId"]) == ("license.created", [None, "org_acme"])
    assert (updated.action, updated.resource_id, updated.changes) == ("license.updated", held, {"tags": [[], ["a"]]})
    assert {one["type"] for one in api.get("/v1/events")["data"]} >= {"license.created", "license.updated"}


def test_the_bounds_of_a_requester_hold_from_row_to_row(api, monkeypatch):
    monkeypatch.setattr("licensing.licenses.services.MAX_LICENSES", 3)
    monkeypatch.setattr("licensing.licenses.services.MAX_SCOPE_ENTRIES", 4)
    held = api.post("/v1/licenses", {**NEW, "tags": ["a", "b"]})["id"]
    rows = [{**NEW, "tags": list(tags)} for tags in ("cde", "cd", "e")]
    rows += [
        {"id": held, "tags": []},
        {**NEW, "tags": ["e", "f"]},
        NEW,
        {**NEW, "requesterId": "other", "tags": ["g"]},
    ]
    reply = send(api, *rows)
    assert statuses(reply) == [422, 201, 422, 200, 201, 422, 201]
    assert {param for param in params(reply) if param} == {"requesterId"}


def test_the_first_name_of_a_requester_counts_and_the_names_of_a_body_are_bounded(api, monkeypatch):
    rows = [{**NEW, "requesterName": "One"}, {**NEW, "requesterName": "Two"}, NEW, {"requesterName": "Three"}]
    assert statuses(send(api, *rows)) == [201, 201, 201, 422]
    assert [one["requesterName"] for one in api.get("/v1/licenses")["data"]] == ["One"] * 3
    held = [api.post("/v1/licenses", {**NEW, "tags": ["a", "b"]})["id"] for _ in range(3)]
    monkeypatch.setattr(bulk, "MAX_SCOPE_ENTRIES", 5)
    assert send(api, *({"id": one, "tags": []} for one in held)).error["param"] == "items"
    assert statuses(send(api, *({"id": one, "tags": []} for one in held[:2]))) == [200, 200]


def test_a_requester_whom_a_check_creates_meanwhile_is_taken_as_he_is(api, account, monkeypatch):
    create = bulk.create_missing

    def late(account_id, named):
        Requester.objects.create(account_id=account_id, requester_id="org_acme", name="Known")
        create(account_id, named)

    monkeypatch.setattr(bulk, "create_missing", late)
    [made] = send(api, NEW)["data"]
    assert made["license"]["requesterName"] == "Known"
    assert Requester.objects.count() == 1


def test_a_check_that_begins_after_the_reply_sees_the_licence(api, item):
    check = {"contentId": item.pk, "requester": "org_acme"}
    assert api.post("/v1/access/check", check)["allowed"] is False
    made = send(api, NEW)["data"][0]["license"]["id"]
    assert api.post("/v1/access/check", check)["allowed"] is True
    send(api, {"id": made, "licenseType": "personal", "tags": ["elsewhere"]})
    assert api.post("/v1/access/check", check)["allowed"] is False


def test_a_price_that_the_ledger_cannot_hold_is_the_fault_of_its_row(api, monkeypatch):
    """SQLite limits daily totals."""
    add = charges.add_entries

    def bounded(entries):
        if sum(entry.amount for entry in entries) > 20:
            raise ValidationFailed("The totals of that day cannot hold this amount.", param="amount")
        add(entries)

    monkeypatch.setattr(charges, "add_entries", bounded)
    prices = [PRICE, {"amount": 30, "currency": "EUR"}, PRICE]
    reply = send(api, *({**NEW, "price": price} for price in prices))
    assert (statuses(reply), params(reply)) == ([201, 422, 201], [None, "price.amount", None])
    assert (License.objects.count(), booked()) == (2, 25)
