import csv
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analytics.statements.closing import close_due
from tests import factories, ledger

JANUARY, FEBRUARY = datetime(2026, 1, 5, 9, tzinfo=UTC), datetime(2026, 2, 6, 9, tzinfo=UTC)


@pytest.fixture
def booked(account, clock):
    """One requester's closed January and open February, and an entry without a requester."""
    clock.set("2026-02-20T12:00:00Z")
    org = ledger.requester(account)
    item = factories.content(account)
    for moment, amount, kind in (
        (JANUARY, "100", "license"),
        (JANUARY, "0.05", "usage"),
        (JANUARY, "0.05", "usage"),
        (FEBRUARY, "-30", "adjustment"),
    ):
        of = {"content": item, "license_type": "press"} if kind == "usage" else {"description": kind}
        ledger.add(account, amount, type=kind, created=moment, occurred_at=JANUARY, requester=org, **of)
    ledger.add(account, "7", currency="EUR", created=FEBRUARY)
    close_due()


def test_the_list_is_filtered_and_sorted(api, booked):
    for query, months in [
        ("", ["2026-02", "2026-02", "2026-01"]), ("sort=created", ["2026-01", "2026-02", "2026-02"]),
        ("status=open", ["2026-02", "2026-02"]), ("status=closed", ["2026-01"]), ("status[ne]=open", ["2026-01"]),
        ("month=2026-01", ["2026-01"]), ("month[gt]=2026-01", ["2026-02", "2026-02"]),
        ("requesterId=org", ["2026-02", "2026-01"]), ("requesterId[exists]=false", ["2026-02"]),
        ("currency=EUR", ["2026-02"]),
    ]:  # fmt: skip
        reply = api.get(f"/v1/statements?{query}")
        assert [one["month"] for one in reply["data"]] == months
        assert reply["totalCount"] == len(months)
    for query in ["month=2026-13", "month=2026-1", "month=0000-01", "status=paid", "currency=eur"]:
        assert api.get(f"/v1/statements?{query}").status_and_param == (400, query.partition("=")[0])


def test_a_statement_has_its_month_lines_and_opening_balance(api, booked):
    [february] = api.get("/v1/statements", month="2026-02", currency="USD")["data"]
    assert february == {
        "id": february["id"], "object": "statement", "requesterId": "org", "requesterName": None, "month": "2026-02",
        "currency": "USD", "status": "open", "opening": 100.1, "licenses": 0, "fees": 0, "usage": 0,
        "adjustments": -30, "total": -30, "charges": 0, "refunds": 30, "payments": 0, "payouts": 0, "paidForCredit": 0,
        "closing": 70.1, "credits": None, "decisions": 0, "lines": 1, "closedAt": None,
    }  # fmt: skip
    assert api.get(f"/v1/statements/{february['id']}").body == february
    [january] = api.get("/v1/statements", month="2026-01")["data"]
    lines = api.get(f"/v1/statements/{january['id']}/lines")["data"]
    assert sorted((line["type"], line["amount"], line["decisions"]) for line in lines) == [
        ("license", 100, 0),
        ("usage", 0.1, 2),
    ]
    assert api.get(f"/v1/revenue/{lines[0]['id']}").status == 200


def test_a_closed_statement_has_the_figures_and_the_id_that_it_had_when_open(api, account, clock):
    clock.set("2026-01-20T12:00:00Z")
    ledger.add(account, "1.5", created=JANUARY)
    [before] = api.get("/v1/statements")["data"]
    clock.set("2026-02-01T01:00:00Z")
    close_due()
    closed = {**before, "status": "closed", "closedAt": "2026-02-01T01:00:00.000000Z"}
    assert api.get(f"/v1/statements/{before['id']}").body == closed


def test_a_closed_statement_keeps_the_name_that_it_was_closed_with(api, booked, clock):
    def names():
        shown = api.get("/v1/statements", requesterId="org")["data"]
        assert [api.get(f"/v1/statements/{one['id']}").body for one in shown] == shown
        names = {one["month"]: one["requesterName"] for one in shown}
        return names["2026-01"], names["2026-02"]

    assert names() == (None, None)
    api.patch("/v1/requesters/org", {"name": "First Ltd"})
    assert names() == ("First Ltd", "First Ltd")  # it was closed without a name
    api.patch("/v1/requesters/org", {"name": "Second Ltd"})
    assert names() == ("First Ltd", "Second Ltd")
    clock.set("2026-03-01T01:00:00Z")
    close_due()
    clock.set("2026-03-02T09:00:00Z")
    api.patch("/v1/requesters/org", {"name": "Third Ltd"})
    api.patch("/v1/requesters/org", {"name": None})
    assert names() == ("First Ltd", "Second Ltd")
    lines = api.get("/v1/statements", format="csv").content.decode()
    assert "Second Ltd" in lines
    assert "Third Ltd" not in lines
    api.delete("/v1/requesters/org")
    assert {one["requesterName"] for one in api.get("/v1/statements")["data"]} == {None}


def test_a_file_has_all_statements_or_all_lines_of_the_account(api, booked):
    rows = list(csv.DictReader(api.get("/v1/statements", format="csv").content.decode().splitlines()))
    assert [row["closing"] for row in rows if row["currency"] == "USD"] == ["70.1", "100.1"]
    lines = api.get(f"/v1/statements/{rows[-1]['id']}/lines", format="csv").content.decode().splitlines()
    assert len(lines) == 3
    with CaptureQueriesContext(connection) as asked:
        api.get("/v1/statements")
    written = [query["sql"] for query in asked if not query["sql"].lstrip("( ").upper().startswith("SELECT")]
    assert not [sql for sql in written if "analytics_" in sql]


def test_statements_of_quotas_are_found_by_their_currency(api, account):
    for unit in ("access", "EUR"):
        factories.wallet(account, unit)
    [found] = api.get("/v1/statements", currency="access")["data"]
    assert (found["currency"], found["credits"]["closing"]) == ("access", 10)
    assert api.get("/v1/statements", currency="accesses").error["param"] == "currency"


def test_statements_show_at_once_that_credit_has_expired_and_was_refilled(api, account, clock):
    factories.requester(account, requester_id="org_acme")
    wallet = api.post(
        "/v1/wallets", {"requesterId": "org_acme", "unit": "EUR", "refill": {"amount": 5, "every": "day"}}
    )
    api.post(
        f"/v1/wallets/{wallet['id']}/grants", {"amount": 10, "expiresAt": f"{clock.now + timedelta(hours=1):%FT%TZ}"}
    )
    clock.advance(days=1, hours=1)
    credit = api.get("/v1/statements?requesterId=org_acme&status=open&sort=-created")["data"][0]["credits"]
    assert credit["closing"] == api.get(f"/v1/wallets/{wallet['id']}")["balance"] == 5
    assert credit["opening"] + credit["granted"] - credit["expired"] == 5
