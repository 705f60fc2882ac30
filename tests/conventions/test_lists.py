"""Pagination of every list (docs/reference/api.md, Lists and filters)."""

import base64
from datetime import UTC, datetime

import pytest
from django.apps import apps
from django.db.models import DateTimeField

from accounts.events.models import Event
from accounts.models import ApiKey, AuditEntry
from accounts.webhooks.models import WebhookAttempt, WebhookEndpoint
from analytics.models import AccessEvent, Grant, LedgerEntry, Payment, Wallet, WalletEntry
from kit.values.currencies import CURRENCIES
from licensing.clients.models import LicenseClient
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.policies.models import Policy, PolicyRevision
from licensing.requesters.models import Requester
from licensing.sites.models import Site
from tests import append_only, factories
from tests.client import ApiClient
from tests.conventions.endpoints import each_list

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)


# The POST that adds a row to the list.
ROWS = {
    "/v1/policies": lambda n: {"name": f"Policy {n}"},
    "/v1/sites": lambda n: {"host": f"site{n}.example"},
    "/v1/requesters": lambda n: {"id": f"customer_{n}"},
    "/v1/licenses": lambda n: {"requesterId": f"org_{n}", "licenseType": "commercial"},
    "/v1/license-clients": lambda n: {"requesterId": f"org_{n}"},
    "/v1/webhooks": lambda n: {"url": f"https://hooks.example/{n}"},
    "/v1/api-keys": lambda n: {"name": f"Key {n}", "type": "public"},
}


def grow(api, ids, path, count):
    """Add `count` rows to the list at `path`."""
    for n in range(count):
        if path in ("/v1/content", "/v1/audit", "/v1/events"):
            api.post("/v1/content", {"title": f"Item {n}"})
        elif path.endswith("/versions"):
            api.patch(f"/v1/policies/{ids['policy']}", {"name": f"Version {n}"})
        elif path == "/v1/access/decisions":
            api.post("/v1/access/check", {"contentId": ids["content"], "requester": f"org_{n}"})
        elif path.endswith("/payments"):
            api.post("/v1/payments", {"requesterId": ids["requester"], "amount": n + 1, "currency": "USD"})
        elif path.startswith(("/v1/revenue", "/v1/statements")):
            currency = CURRENCIES[n] if path == "/v1/statements" else "USD"
            api.post("/v1/revenue", {"amount": n + 1, "currency": currency, "description": f"Sale {n}"})
        elif path == "/v1/wallets":
            api.post("/v1/requesters", {"id": f"wallet_{n}"})
            api.post(path, {"requesterId": f"wallet_{n}", "unit": "USD"})
        elif path.startswith("/v1/wallets/"):
            api.post(f"/v1/wallets/{ids['wallet']}/grants", {"amount": n + 1})
        elif path.endswith("/deliveries"):
            add_attempt(ids["webhook"], ids["event"], n + 1)
        else:
            api.post(path, ROWS[path](n))


def add_attempt(endpoint_id, event_id, number):
    WebhookAttempt.objects.create(
        endpoint_id=endpoint_id,
        event_id=event_id,
        number=number,
        succeeded=True,
        status=200,
        reply="ok",
        duration_ms=10,
    )


def make_simultaneous(path):
    """Set the same creation time on all rows of the list."""
    model = {
        "/v1/content": Content,
        "/v1/policies": Policy,
        "/v1/policies/{policy}/versions": PolicyRevision,
        "/v1/sites": Site,
        "/v1/requesters": Requester,
        "/v1/licenses": License,
        "/v1/license-clients": LicenseClient,
        "/v1/access/decisions": AccessEvent,
        "/v1/api-keys": ApiKey,
        "/v1/revenue": LedgerEntry,
        "/v1/payments": Payment,
        "/v1/wallets": Wallet,
        "/v1/wallets/{wallet}/grants": Grant,
        "/v1/wallets/{wallet}/entries": WalletEntry,
        "/v1/statements": LedgerEntry,
        "/v1/statements/{statement}/lines": LedgerEntry,
        "/v1/statements/{paidStatement}/payments": Payment,
        "/v1/audit": AuditEntry,
        "/v1/events": Event,
        "/v1/webhooks": WebhookEndpoint,
        "/v1/webhooks/{webhook}/deliveries": WebhookAttempt,
    }[path]
    field = "created_at" if model is ApiKey else "created"
    assert isinstance(apps.get_model(model._meta.label)._meta.get_field(field), DateTimeField)
    # A statement belongs to the month in which its entries were recorded.
    moment = model.objects.latest("created").created if path.startswith("/v1/statements") else MOMENT
    with append_only.unlocked():
        model.objects.update(**{field: moment})


def identity(row):
    return row["id"], row.get("version")


def walk(api, path, **query):
    """Return the identities of all rows, and the pages."""
    pages = [api.get(path, **query)]
    while pages[-1]["hasMore"]:
        pages.append(api.get(path, **query, cursor=pages[-1]["nextCursor"]))
    return [identity(row) for page in pages for row in page["data"]], pages


@each_list()
def test_every_row_is_met_once_on_the_way_through_the_pages(api, ids, endpoint):
    path = endpoint.filled(ids)[0]
    grow(api, ids, endpoint.path, 7)
    whole = [identity(row) for row in api.get(path, limit=100)["data"]]
    walked, pages = walk(api, path, limit=3)
    assert walked == whole
    assert len(set(walked)) == len(walked) >= 7
    assert [len(page["data"]) for page in pages[:-1]] == [3] * (len(pages) - 1)
    assert {page["totalCount"] for page in pages} == {len(whole)}


@each_list()
def test_rows_of_one_microsecond_are_met_once_each(api, ids, endpoint):
    path = endpoint.filled(ids)[0]
    grow(api, ids, endpoint.path, 7)
    make_simultaneous(endpoint.path)
    whole = [identity(row) for row in api.get(path, limit=100)["data"]]
    assert walk(api, path, limit=2)[0] == whole
    assert len(set(whole)) >= 7


@each_list()
def test_what_is_added_on_the_way_shifts_nothing(api, ids, endpoint):
    path = endpoint.filled(ids)[0]
    grow(api, ids, endpoint.path, 5)
    before = [identity(row) for row in api.get(path, limit=100)["data"]]
    first = api.get(path, limit=2)
    grow(api, ids, endpoint.path, 3)
    rest = api.get(path, limit=100, cursor=first["nextCursor"])
    assert [identity(row) for row in first["data"] + rest["data"]] == before


@each_list()
def test_the_last_page_has_no_cursor(api, ids, endpoint):
    path = endpoint.filled(ids)[0]
    grow(api, ids, endpoint.path, 3)
    total = api.get(path)["totalCount"]
    exact = api.get(path, limit=total)
    assert (exact["hasMore"], "nextCursor" in exact.body) == (False, False)
    short = api.get(path, limit=total - 1)
    assert (short["hasMore"], "nextCursor" in short.body) == (True, True)


@each_list()
def test_the_limit_is_from_1_to_100(api, ids, endpoint):
    path = endpoint.filled(ids)[0]
    assert [api.get(path, limit=limit).status for limit in (1, 100)] == [200, 200]
    for limit in ("0", "101", "-1", "1.0", "ten", "", "1e1", "+5", " 5", "٣", "9" * 5000, "0x10"):
        reply = api.get(path, limit=limit)
        assert (limit, reply.status, reply.error["param"]) == (limit, 400, "limit")


@pytest.fixture
def cursor(api, ids):
    for _ in range(3):
        api.post("/v1/content", {"title": "x", "type": "image"})
    return api.get("/v1/content", limit=1)["nextCursor"]


def is_refused(reply):
    """Assert that a response refuses the cursor, and return True."""
    assert reply.status == 400, reply
    assert (reply.error["code"], reply.error["param"]) == ("invalid_request", "cursor")
    return True


@each_list()
def test_what_is_no_cursor_is_refused(api, ids, endpoint):
    path = endpoint.filled(ids)[0]
    for text in ("", "x", "====", "MjAyNg==", "A" * 54, "é", "a b", "x" * 5000, base64.b64encode(b"\0" * 40).decode()):
        assert is_refused(api.get(path, cursor=text))


def test_a_tampered_cursor_is_refused(api, cursor):
    for index in range(0, len(cursor) - 1, 5):
        changed = cursor[:index] + ("A" if cursor[index] != "A" else "B") + cursor[index + 1 :]
        assert is_refused(api.get("/v1/content", cursor=changed))


def test_a_cursor_has_one_spelling(api, cursor):
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    neighbour = digits[digits.index(cursor[-1]) ^ 1]  # another value of bits that no byte of it uses
    for changed in (cursor[:-1] + neighbour, f"{cursor[:9]}.{cursor[9:]}", f"{cursor}=", f"{cursor}==", f"{cursor} "):
        assert is_refused(api.get("/v1/content", cursor=changed))


def test_a_cursor_says_nothing_about_the_row_it_points_to(api, cursor):
    assert cursor.isascii()
    assert "cnt_" not in base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("latin1")


def test_another_accounts_cursor_is_refused(other_api, cursor):
    assert is_refused(other_api.get("/v1/content", cursor=cursor))


def test_a_cursor_holds_for_all_keys_of_the_account(account, cursor):
    assert ApiClient(factories.key_text(account)).get("/v1/content", cursor=cursor).status == 200


def test_a_cursor_of_another_list_is_refused(api, cursor):
    for path in ("/v1/policies", "/v1/access/decisions", "/v1/api-keys"):
        assert is_refused(api.get(path, cursor=cursor))


@pytest.mark.parametrize("query", [{"type": "image"}, {"status": "active"}, {"title": "x"}])
def test_a_cursor_with_other_filters_is_refused(api, cursor, query):
    assert is_refused(api.get("/v1/content", cursor=cursor, **query))


def test_a_cursor_made_with_filters_needs_the_same(api, cursor):
    made = api.get("/v1/content", limit=1, type="image", status="active")["nextCursor"]
    assert api.get("/v1/content", cursor=made, status="active", type="image").status == 200
    assert is_refused(api.get("/v1/content", cursor=made, type="image"))
    assert is_refused(api.get("/v1/content", cursor=made, type="report", status="active"))


def test_the_limit_may_change_from_page_to_page(api, cursor):
    assert len(api.get("/v1/content", cursor=cursor, limit=2)["data"]) == 2


def test_a_filtered_list_is_walked_whole(api, cursor):
    walked, pages = walk(api, "/v1/content", limit=1, type="image")
    assert (len(walked), pages[0]["totalCount"]) == (3, 3)


def test_the_row_under_a_cursor_may_go(api, cursor):
    first = api.get("/v1/content", limit=1)["data"][0]
    api.delete(f"/v1/content/{first['id']}")
    assert api.get("/v1/content", cursor=cursor)["totalCount"] == 3
