import os
from functools import partial

import pytest

from accounts.models import AuditEntry
from licensing.licenses.models import License
from tests import factories
from tests.client import ApiClient
from tests.lock_waits import at_once

SYNCHRONISED = int(os.environ.get("SYNC_LICENSES") or 20)
LICENSE = {"requesterId": "org_acme", "licenseType": "commercial"}
POLICY = {"name": "Commercial"}
RESOURCES = [("/v1/licenses", LICENSE), ("/v1/policies", POLICY)]
PRICE = {"amount": "12.50", "currency": "EUR"}

either = pytest.mark.parametrize(("path", "body"), RESOURCES, ids=["licence", "policy"])


def sync(api, rows):
    statuses = []
    for first in range(0, len(rows), 1000):
        reply = api.post("/v1/licenses/bulk", {"items": rows[first : first + 1000]})
        assert reply.status == 200, reply
        statuses += [one["status"] for one in reply["data"]]
    return statuses


def state(api):
    """Return everything that a synchronisation could change."""
    lists = ("/v1/licenses", "/v1/requesters", "/v1/revenue", "/v1/events")
    written = License.objects.order_by("pk").values_list("pk", "updated", "external_id")
    return [api.get(path).body for path in lists] + [AuditEntry.objects.count(), list(written)]


@either
def test_it_is_kept_shown_and_found_by_its_external_id(api, path, body):
    made = api.post(path, {**body, "externalId": "crm-1", "metadata": {"seats": 25, "country": "DE"}})
    assert (made.status, made["externalId"], made["metadata"]) == (201, "crm-1", {"seats": 25, "country": "DE"})
    without = api.post(path, body)
    assert (without["externalId"], without["metadata"]) == (None, {})
    assert api.get(f"{path}?externalId=crm-1")["data"] == [made.body]
    assert api.get(f"{path}?externalId[exists]=false")["totalCount"] == 1
    assert api.patch(f"{path}/{made['id']}", {"externalId": "crm-2"})["externalId"] == "crm-2"
    assert api.patch(f"{path}/{made['id']}", {"externalId": None})["externalId"] is None
    assert api.post(path, {**body, "externalId": "crm-2"}).status == 201


@either
def test_metadata_is_merged_by_key(api, path, body):
    assert api.post(path, {**body, "metadata": {f"k{n}": n for n in range(51)}}).status_and_param == (422, "metadata")
    made = api.post(path, {**body, "metadata": {"a": 1, "b": 1, "c": "x"}})["id"]
    changed = api.patch(f"{path}/{made}", {"metadata": {"a": True, "b": 1.0, "c": None, "d": "y"}})
    assert changed["metadata"] == {"a": True, "b": 1.0, "d": "y"}
    assert changed["metadata"]["a"] is True
    assert api.get(f"{path}/{made}").body == changed.body
    assert AuditEntry.objects.latest("created").changes["metadata"][1]["a"] is True
    assert api.patch(f"{path}/{made}", {"metadata": None})["metadata"] == {}


@either
def test_a_taken_external_id_is_a_conflict(api, other_api, path, body):
    api.post(path, {**body, "externalId": "crm-1"})
    second = api.post(path, {**body, "externalId": "crm-2"})["id"]
    for reply in (
        api.post(path, {**body, "externalId": "crm-1"}),
        api.patch(f"{path}/{second}", {"externalId": "crm-1"}),
    ):
        assert reply.status_and_code == (409, "resource_already_exists")
        assert reply.error["param"] == "externalId"
    assert api.patch(f"{path}/{second}", {"externalId": "crm-2"}).status == 200
    assert other_api.post(path, {**body, "externalId": "crm-1"}).status == 201


def test_external_ids_of_policies_survive_rollbacks_and_are_freed_by_deletion(api):
    made = api.post("/v1/policies", {**POLICY, "externalId": "crm-1"})["id"]
    api.delete(f"/v1/policies/{made}")
    assert api.post("/v1/policies", {**POLICY, "externalId": "crm-1"}).status == 201
    made = api.post("/v1/policies", {**POLICY, "externalId": "old", "metadata": {"a": 1}})["id"]
    api.patch(f"/v1/policies/{made}", {"name": "New", "externalId": "new", "metadata": {"a": 2}})
    back = api.post(f"/v1/policies/{made}/rollback", {"version": 1})
    assert (back["name"], back["externalId"], back["metadata"]) == ("Commercial", "new", {"a": 2})


def test_a_change_of_either_is_audited_and_announced(api):
    made = api.post("/v1/licenses", {**LICENSE, "externalId": "crm-1"})["id"]
    api.patch(f"/v1/licenses/{made}", {"externalId": "crm-2", "metadata": {"a": 1}})
    event = api.get("/v1/events?type=license.updated")["data"][0]
    assert event["previous"].keys() >= {"externalId", "metadata"}
    changes = {"externalId": ["crm-1", "crm-2"], "metadata": [{}, {"a": 1}]}
    assert AuditEntry.objects.latest("created").changes == changes


def test_rows_are_matched_by_external_id_and_the_second_synchronisation_writes_nothing(api):
    rows = [
        {
            **LICENSE, "requesterId": f"org_{n}", "requesterName": f"Customer {n}", "externalId": f"crm-{n}",
            "startsAt": "2026-01-01", "expiresAt": "2027-01-01T00:00:00+01:00", "tags": ["a", "a"], "price": PRICE,
            "pricePerAccess": {"amount": 0.10, "currency": "EUR"}, "metadata": {"seats": 5, "note": None},
        }
        for n in range(SYNCHRONISED)
    ]  # fmt: skip
    assert sync(api, rows) == [201] * len(rows)
    before = state(api)
    assert sync(api, rows) == [200] * len(rows)
    assert state(api) == before
    rows[1]["licenseType"] = "enterprise"
    assert sync(api, [*rows, {**LICENSE, "externalId": "new"}]) == [200] * len(rows) + [201]
    assert [one["externalId"] for one in api.get("/v1/licenses?licenseType=enterprise")["data"]] == ["crm-1"]


def test_the_same_external_id_twice_is_a_conflict_of_the_later_row(api):
    row = {**LICENSE, "externalId": "crm-1"}
    for _ in range(2):
        first, second = api.post("/v1/licenses/bulk", {"items": [row, {**row, "tags": ["a"]}]})["data"]
        assert (first["status"], second["status"], second["error"]["param"]) == (first["status"], 409, "externalId")
    assert api.get("/v1/licenses")["data"][0]["tags"] == []


def test_a_row_can_take_the_external_id_that_an_earlier_row_gives_up(api):
    held = api.post("/v1/licenses", {**LICENSE, "externalId": "crm-1"})["id"]
    assert sync(api, [{"id": held, "externalId": "crm-2"}, {**LICENSE, "externalId": "crm-1"}]) == [200, 201]
    assert sync(api, [{"id": held, "externalId": "crm-1"}]) == [409]


def test_a_row_needs_only_the_external_id_that_is_free_in_its_account(api, other_api):
    theirs = other_api.post("/v1/licenses", {**LICENSE, "externalId": "crm-1"}).body
    assert sync(api, [{**LICENSE, "externalId": "crm-1", "tags": ["mine"]}]) == [201]
    assert other_api.get(f"/v1/licenses/{theirs['id']}").body == theirs
    api.post("/v1/licenses", {**LICENSE, "externalId": "crm-1"})
    assert sync(api, [{"externalId": "crm-1", "tags": ["a"]}]) == [200]
    reply = api.post("/v1/licenses/bulk", {"items": [{"externalId": "crm-2"}]})["data"][0]
    assert (reply["status"], reply["error"]["param"]) == (422, "requesterId")
    assert [one["param"] for one in reply["error"]["errors"]] == ["requesterId", "licenseType"]


def test_the_external_ids_of_rows_hold_where_each_is_written_alone(api, monkeypatch):
    """SQLite writes row by row if a total is too large."""
    from kit.http.errors import ValidationFailed
    from licensing.licenses import bulk

    def too_large(self):
        raise ValidationFailed("Too large.")

    api.post("/v1/licenses", {**LICENSE, "externalId": "crm-1"})
    monkeypatch.setattr(bulk.Together, "run", too_large)
    rows = [{**LICENSE, "externalId": "crm-1", "tags": ["a"]}, *[{**LICENSE, "externalId": "crm-2"}] * 2]
    assert sync(api, rows) == [200, 201, 409]
    assert License.objects.count() == 2


@pytest.mark.django_db(transaction=True)
@either
def test_of_simultaneous_requests_with_one_external_id_one_creates(path, body):
    account = factories.account()
    client, row = ApiClient(factories.key_text(account)), {**body, "externalId": "crm-1"}

    def create(number):
        if path == "/v1/licenses" and number % 2:
            return client.post("/v1/licenses/bulk", {"items": [row]})["data"][0]["status"]
        return client.post(path, row).status

    statuses = at_once(*(partial(create, number) for number in range(12)))
    assert statuses.count(201) == 1
    assert set(statuses) <= {200, 201, 409}
    assert client.get(path)["totalCount"] == 1
