"""On SQLite, a bulk request commits a few rows at a time, so that other accounts' checks wait for those only."""

from unittest.mock import Mock

import pytest
from django.db import connection

from accounts import bulk
from accounts.models import IdempotencyRecord
from licensing.content.bulk import ContentBulk
from tests import factories

pytestmark = pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL commits all rows together")
KEY = {"Idempotency-Key": "synchronise"}


@pytest.fixture(autouse=True)
def two_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(bulk, "PART_ROWS", 2)


@pytest.fixture
def parts(monkeypatch):
    """Return a list that gets the number of rows of each part of a bulk request for content."""
    sizes = []
    write = ContentBulk.write_rows

    def count(account_id, rows, earlier):
        sizes.append(len(rows))
        return write(account_id, rows, earlier)

    monkeypatch.setattr(ContentBulk, "write_rows", count)
    return sizes


def item(number, **fields):
    return {"externalId": f"item-{number}", "title": f"Item {number}", **fields}


def policy(number):
    return {"externalId": f"policy-{number}", "name": f"Policy {number}", "rules": [factories.ALLOW_ALL]}


def license_of(number):
    return {"externalId": f"license-{number}", "requesterId": "org_acme", "licenseType": "commercial"}


@pytest.mark.parametrize(
    ("path", "name", "row"),
    [
        ("/v1/content/bulk", "content", item),
        ("/v1/licenses/bulk", "license", license_of),
        ("/v1/policies/bulk", "policy", policy),
    ],
)
def test_a_row_about_a_resource_of_an_earlier_part_conflicts(api, path, name, row):
    reply = api.post(path, {"items": [row(1), row(2), row(3), row(2)]})
    assert [one["status"] for one in reply["data"]] == [201, 201, 201, 409]
    assert reply["data"][3]["error"]["message"].startswith("Row 1 is about the same")
    first = reply["data"][0][name]["id"]
    again = api.post(path, {"items": [row(1), row(2), row(3), {"id": first}]})
    assert [one["status"] for one in again["data"]] == [200, 200, 200, 409]


def test_the_reply_has_the_outcomes_of_all_parts_in_order(api, parts):
    assert api.post("/v1/content/bulk", {"items": {}}, headers=KEY).status == 422
    assert (parts, IdempotencyRecord.objects.count()) == ([], 0)
    reply = api.post("/v1/content/bulk", {"items": [item(1), {"title": 5}, item(2), item(3), item(4)]})
    assert parts == [2, 2, 1]
    assert (reply.status, reply["totalCount"], reply["hasMore"]) == (200, 5, False)
    assert [one["index"] for one in reply["data"]] == [0, 1, 2, 3, 4]
    assert [one["status"] for one in reply["data"]] == [201, 422, 201, 201, 201]
    assert api.get("/v1/content")["totalCount"] == 4


def test_a_retry_writes_the_rows_that_a_crash_has_left(api, parts, monkeypatch):
    rows = {"items": [{"title": f"Item {number}"} for number in range(5)]}  # each of which would be created again

    write = ContentBulk.write_rows

    def crash_in_the_second_part(account_id, rows, earlier):
        if parts:
            raise RuntimeError("killed")
        return write(account_id, rows, earlier)

    with monkeypatch.context() as context:
        context.setattr(ContentBulk, "write_rows", crash_in_the_second_part)
        assert api.post("/v1/content/bulk", rows, headers=KEY).status == 500
    assert api.get("/v1/content")["totalCount"] == 2
    reply = api.post("/v1/content/bulk", rows, headers=KEY)
    assert "Idempotent-Replayed" not in reply.headers
    assert [(one["index"], one["status"]) for one in reply["data"]] == [(index, 201) for index in range(5)]
    assert api.get("/v1/content")["totalCount"] == 5
    replay = api.post("/v1/content/bulk", rows, headers=KEY)
    assert (replay.headers["Idempotent-Replayed"], replay.content) == ("true", reply.content)
    assert parts == [2, 2, 1]


def test_another_body_with_the_key_of_an_unfinished_request_is_refused(api, monkeypatch):
    with monkeypatch.context() as context:
        context.setattr(bulk, "let_others_write", Mock(side_effect=RuntimeError("killed")))
        assert api.post("/v1/content/bulk", {"items": [item(1), item(2), item(3)]}, headers=KEY).status == 500
    reply = api.post("/v1/content/bulk", {"items": [item(4)]}, headers=KEY)
    assert reply.status_and_code == (422, "idempotency_mismatch")
    assert api.get("/v1/content")["totalCount"] == 2
