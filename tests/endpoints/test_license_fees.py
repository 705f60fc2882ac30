import csv
from datetime import UTC, datetime, timedelta

import pytest

from accounts.plans.services import update_account
from analytics.ledger.due import book_regularly
from analytics.ledger.entries import add_entries
from analytics.models import LedgerEntry, Statement
from analytics.statements.closing import close_due
from kit.http.errors import ValidationFailed
from licensing.licenses.models import License
from tests import factories

MONTHLY = {"amount": 50, "currency": "EUR", "every": "month"}


def issue(api, **fields):
    body = {"requesterId": "org_acme", "licenseType": "commercial", "fee": MONTHLY, **fields}
    reply = api.post("/v1/licenses", body)
    assert reply.status == 201, reply.body
    return reply


def fees(api):
    """Return the moments and amounts of all fees, oldest first."""
    rows = api.get("/v1/revenue?type=fee&limit=100")["data"]
    return sorted((row["occurredAt"][:16], row["amount"]) for row in rows)


def test_a_fee_is_charged_at_the_start_of_each_period(api, clock):
    clock.set("2026-01-31T12:00:00Z")
    held = issue(api, expiresAt="2026-04-30T12:00:00Z")
    assert (held["fee"], held["nextFeeAt"]) == (MONTHLY, "2026-02-28T12:00:00.000000Z")
    assert fees(api) == [("2026-01-31T12:00", 50)]
    clock.set("2026-03-01T00:00:00Z")
    assert fees(api) == [("2026-01-31T12:00", 50), ("2026-02-28T12:00", 50)]
    assert api.get(f"/v1/licenses/{held['id']}")["nextFeeAt"] == "2026-03-31T12:00:00.000000Z"
    clock.set("2027-01-01T00:00:00Z")
    assert [moment for moment, _ in fees(api)] == ["2026-01-31T12:00", "2026-02-28T12:00", "2026-03-31T12:00"]
    assert api.get(f"/v1/licenses/{held['id']}")["nextFeeAt"] is None, "it ends when the next period would begin"
    [entry] = LedgerEntry.objects.filter(occurred_at=datetime(2026, 2, 28, 12, tzinfo=UTC))
    assert (entry.license_id, entry.license_type, entry.requester.requester_id) == (
        held["id"],
        "commercial",
        "org_acme",
    )


def test_periods_missed_while_the_service_was_down_are_charged_once_each(api, clock):
    clock.set("2026-01-15T09:00:00Z")
    issue(api)
    quarterly = issue(api, requesterId="org_byron", fee={**MONTHLY, "amount": "120.50", "every": "quarter"})
    clock.set("2026-05-20T00:00:00Z")
    assert (book_regularly(), book_regularly()) == (5, 0)
    clock.set("2026-03-20T00:00:00Z")  # a clock that goes back
    assert book_regularly() == 0
    monthly = [(f"2026-0{month}-15T09:00", 50) for month in range(1, 6)]
    assert fees(api) == sorted([*monthly, ("2026-01-15T09:00", 120.5), ("2026-04-15T09:00", 120.5)])
    assert api.get(f"/v1/licenses/{quarterly['id']}")["nextFeeAt"] == "2026-07-15T09:00:00.000000Z"


def test_a_fee_belongs_to_the_month_of_its_period_even_if_it_is_booked_late(api, account, clock):
    clock.set("2026-01-15T09:00:00Z")
    issue(api)
    clock.set("2026-03-02T00:00:00Z")
    assert close_due() == 2
    statements = Statement.objects.order_by("month").values_list("month", "fees", "closing")
    assert [(f"{month:%m}", *sums) for month, *sums in statements] == [("01", 50, 50), ("02", 50, 100)]
    [january] = api.get("/v1/statements?month=2026-01")["data"]
    assert (january["fees"], january["total"], january["licenses"], january["closing"]) == (50, 50, 0, 50)
    [line] = api.get(f"/v1/statements/{january['id']}/lines")["data"]
    assert (line["type"], line["amount"]) == ("fee", 50)


def test_a_licence_with_an_earlier_start_is_charged_for_its_past_periods_at_once(api, clock):
    clock.set("2026-03-04T00:00:00Z")
    held = issue(api, startsAt="2026-01-01T00:00:00Z")
    assert [moment[:10] for moment, _ in fees(api)] == ["2026-01-01", "2026-02-01", "2026-03-01"]
    assert held["nextFeeAt"] == "2026-04-01T00:00:00.000000Z"
    assert {entry.created for entry in LedgerEntry.objects.all()} == {clock.now}, "earlier months may be closed"


def test_a_licence_of_the_future_is_charged_from_its_start(api, clock):
    clock.set("2026-03-04T00:00:00Z")
    held = issue(api, startsAt="2026-06-01T00:00:00Z")
    assert (held["nextFeeAt"], fees(api)) == ("2026-06-01T00:00:00.000000Z", [])
    changed = api.patch(f"/v1/licenses/{held['id']}", {"startsAt": "2026-02-01T00:00:00Z"})
    assert changed["nextFeeAt"] == "2026-04-01T00:00:00.000000Z"
    assert [moment[:10] for moment, _ in fees(api)] == ["2026-02-01", "2026-03-01"]


def test_a_changed_fee_applies_from_the_next_period(api, clock):
    clock.set("2026-01-10T00:00:00Z")
    path = f"/v1/licenses/{issue(api)['id']}"
    clock.set("2026-01-20T00:00:00Z")
    changed = api.patch(path, {"fee": {"amount": 90, "currency": "USD", "every": "quarter"}})
    assert changed["nextFeeAt"] == "2026-02-10T00:00:00.000000Z", "January is paid"
    clock.set("2026-02-10T00:00:00Z")
    assert fees(api) == [("2026-01-10T00:00", 50), ("2026-02-10T00:00", 90)]
    assert api.get(path)["nextFeeAt"] == "2026-05-10T00:00:00.000000Z"
    ended = api.patch(path, {"fee": None})
    assert (ended["fee"], ended["nextFeeAt"]) == (None, None)
    clock.set("2026-08-20T00:00:00Z")
    assert api.patch(path, {"fee": MONTHLY})["nextFeeAt"] == "2026-09-10T00:00:00.000000Z", "as one without a fee"
    assert len(fees(api)) == 2


def test_a_fee_that_is_due_when_the_fee_is_changed_is_the_former_one(api, clock):
    clock.set("2026-01-10T00:00:00Z")
    path = f"/v1/licenses/{issue(api)['id']}"
    clock.set("2026-02-20T00:00:00Z")
    assert api.patch(path, {"fee": {**MONTHLY, "amount": 90}})["nextFeeAt"] == "2026-03-10T00:00:00.000000Z"
    assert fees(api) == [("2026-01-10T00:00", 50), ("2026-02-10T00:00", 50)]


def test_another_start_charges_no_time_twice(api, clock):
    clock.set("2026-03-10T00:00:00Z")
    path = f"/v1/licenses/{issue(api)['id']}"  # paid until 10 April
    assert api.patch(path, {"startsAt": "2026-02-01T00:00:00Z"})["nextFeeAt"] == "2026-05-01T00:00:00.000000Z"
    assert len(fees(api)) == 1


def test_revocation_ends_fees_and_extension_continues_them(api, clock):
    clock.set("2026-01-10T00:00:00Z")
    revoked, ended = issue(api), issue(api, requesterId="org_byron", expiresAt="2026-02-01T00:00:00Z")
    clock.set("2026-02-20T00:00:00Z")
    reply = api.post(f"/v1/licenses/{revoked['id']}/revoke")
    assert (reply.status, reply["nextFeeAt"]) == (200, None)
    assert len(fees(api)) == 3, "what was due before the revocation is charged"
    clock.set("2026-03-20T00:00:00Z")
    extended = api.patch(f"/v1/licenses/{ended['id']}", {"expiresAt": "2027-01-01T00:00:00Z"})
    assert extended["nextFeeAt"] == "2026-04-10T00:00:00.000000Z"
    assert [moment[5:10] for moment, _ in fees(api)] == ["01-10", "01-10", "02-10", "02-10", "03-10"]


def test_fees_follow_a_merged_customer(api, account, clock):
    clock.set("2026-01-10T00:00:00Z")
    issue(api)
    factories.requester(account, requester_id="org_b")
    clock.set("2026-02-20T00:00:00Z")
    assert api.post("/v1/requesters/org_acme/merge", {"into": "org_b"}).status == 200
    clock.set("2026-03-20T00:00:00Z")
    book_regularly()
    payers = LedgerEntry.objects.order_by("occurred_at").values_list("requester__requester_id", flat=True)
    assert list(payers) == ["org_acme", "org_acme", "org_b"]


def test_a_fee_is_refunded_by_its_entry(api, clock):
    clock.set("2026-01-10T00:00:00Z")
    held = issue(api, price={"amount": 200, "currency": "EUR"})
    clock.set("2026-02-20T00:00:00Z")
    first, second = sorted(api.get("/v1/revenue?type=fee")["data"], key=lambda row: row["occurredAt"])
    refund = api.post("/v1/refunds", {"entryId": first["id"], "amount": 20})
    assert (refund.status, refund["amount"]) == (201, -20)
    assert (refund["feeId"], refund["licenseId"]) == (first["id"], held["id"])
    assert api.post("/v1/refunds", {"entryId": first["id"], "amount": 31}).error["param"] == "amount"
    rest = api.post("/v1/revenue", {"amount": -30, "currency": "EUR", "feeId": first["id"]})
    assert (rest.status, rest["requesterId"]) == (201, "org_acme")
    assert "At most 0.00 EUR" in api.post("/v1/refunds", {"entryId": first["id"]}).error["message"]
    assert [row["id"] for row in api.get(f"/v1/revenue?feeId={first['id']}")["data"]] == [rest["id"], refund["id"]]
    entries = {row["id"]: row for row in api.get("/v1/revenue?type[in]=fee,license")["data"]}
    assert (entries[first["id"]]["refunded"], entries[second["id"]]["refundable"]) == (50, 50)
    assert api.post("/v1/refunds", {"licenseId": held["id"]})["amount"] == -200, "the price is a charge of its own"


def test_fees_count_in_revenue_audit_and_files(api, clock):
    clock.set("2026-01-10T00:00:00Z")
    issued = issue(api)
    report = api.get("/v1/analytics/revenue?period=7d&currency=EUR")
    assert (report["summary"]["total"], report["byLicenseType"]) == (50, {"commercial": 50})
    assert report["byRequester"][0]["revenue"] == 50
    [held] = csv.DictReader(api.get("/v1/licenses?format=csv").content.decode().splitlines())
    assert (held["fee.amount"], held["fee.every"]) == ("50", "month")
    assert held["nextFeeAt"] == "2026-02-10T00:00:00.000000Z"
    [entry] = csv.DictReader(api.get("/v1/revenue?format=csv").content.decode().splitlines())
    assert entry["type"] == "fee"
    api.patch(f"/v1/licenses/{issued['id']}", {"fee": {**MONTHLY, "amount": 60}})
    [change] = api.get(f"/v1/audit?resourceId={issued['id']}&action=license.updated")["data"]
    assert change["changes"]["fee"] == ["50 EUR every month", "60 EUR every month"]


def test_an_invalid_fee_is_refused_by_its_field(api):
    for fee, param in [
        ({"amount": 0, "currency": "EUR", "every": "month"}, "fee.amount"),
        ({"amount": 5, "currency": "XXX", "every": "month"}, "fee.currency"),
        ({"amount": 5, "currency": "EUR", "every": "week"}, "fee.every"),
        ({"amount": 5, "currency": "EUR"}, "fee.every"),
    ]:
        reply = api.post("/v1/licenses", {"requesterId": "org_acme", "licenseType": "commercial", "fee": fee})
        assert reply.status_and_param == (422, param)


def test_bulk_rows_have_fees(api, clock):
    clock.set("2026-01-31T12:00:00Z")
    row = {"externalId": "c-1", "requesterId": "org_acme", "licenseType": "commercial", "fee": MONTHLY}
    issued, again = (api.post("/v1/licenses/bulk", {"items": [row]})["data"][0] for _ in range(2))
    assert (issued["license"]["nextFeeAt"], issued["license"]["fee"]) == ("2026-02-28T12:00:00.000000Z", MONTHLY)
    assert again["license"] == issued["license"]
    clock.set("2026-04-20T00:00:00Z")
    changed = api.post("/v1/licenses/bulk", {"items": [{"externalId": "c-1", "fee": {**MONTHLY, "amount": 70}}]})
    assert changed["data"][0]["license"]["nextFeeAt"] == "2026-04-30T12:00:00.000000Z"
    assert [amount for _, amount in fees(api)] == [50, 50, 50]


def test_fees_are_due_by_the_accounts_wall_clock(api, account, clock):
    clock.set("2026-11-20T00:00:00Z")
    update_account(account, {"time_zone": "Europe/Berlin"})
    held = issue(api, startsAt="2026-12-01T00:00:00+01:00")
    path = f"/v1/licenses/{held['id']}"
    clock.set("2026-12-15T00:00:00Z")
    assert api.get(path)["nextFeeAt"] == "2026-12-31T23:00:00.000000Z"
    update_account(account, {"time_zone": "America/New_York"})
    assert api.get(path)["nextFeeAt"] == "2027-01-01T05:00:00.000000Z"
    clock.set("2027-08-01T12:00:00Z")
    assert [moment for moment, _ in fees(api)][1:3] == ["2027-01-01T05:00", "2027-02-01T05:00"]
    assert fees(api)[-1][0] == "2027-08-01T04:00"
    assert License.objects.get().next_fee_at - clock.now > timedelta(days=30)


def test_a_licence_changed_before_its_first_fee_counts_its_months_in_the_accounts_present_time_zone(
    api, account, clock
):
    clock.set("2027-03-20T00:00:00Z")
    held = issue(api, startsAt="2027-03-31T22:30:00Z")  # the last of March in UTC, the first of April in Berlin
    update_account(account, {"time_zone": "Europe/Berlin"})
    assert api.patch(f"/v1/licenses/{held['id']}", {"licenseType": "press"}).status == 200
    clock.set("2027-04-01T00:00:00Z")
    assert fees(api) == [("2027-03-31T22:30", 50)]
    assert api.get(f"/v1/licenses/{held['id']}")["nextFeeAt"] == "2027-04-30T22:30:00.000000Z"


def test_a_fee_that_another_time_zone_moves_into_the_past_is_due_at_once(api, account, clock):
    clock.set("2026-03-31T20:00:00Z")
    issue(api, startsAt="2026-03-01T00:00:00Z")
    update_account(account, {"time_zone": "Pacific/Auckland"})  # where April began at 11:00
    assert [moment for moment, _ in fees(api)] == ["2026-03-01T00:00", "2026-03-31T20:00"]


def test_a_fee_that_cannot_be_booked_stops_no_other(api, account, clock, monkeypatch):
    clock.set("2026-01-10T00:00:00Z")
    broken = issue(api)["id"]
    issue(api, requesterId="org_byron", fee={**MONTHLY, "amount": 7})
    clock.set("2026-02-20T00:00:00Z")

    def refuse(entries):
        if any(entry.license_id == broken for entry in entries):
            raise ValidationFailed("Too much.", param="amount")
        add_entries(entries)

    monkeypatch.setattr("licensing.licenses.fees.add_entries", refuse)
    assert sorted(amount for _, amount in fees(api)) == [7, 7, 50]
    with pytest.raises(ValidationFailed):
        book_regularly()
