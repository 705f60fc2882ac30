import pytest

from tests import auditlog, factories
from tests.client import ApiClient


@pytest.fixture
def last(api):
    """Return the newest entry from the API."""
    return lambda **query: api.get("/v1/audit", limit=1, **query)["data"][0]


@pytest.fixture
def item(api):
    return api.post("/v1/content", {"title": "Markets", "tags": ["new"], "metadata": {"edition": 1, "author": "Ada"}})


def test_an_entry_names_actor_resource_and_time(account, item):
    key, text = factories.api_key(account, name="Desk")
    desk = ApiClient(text)
    reply = desk.patch(f"/v1/content/{item['id']}", {"status": "archived"}, headers={"X-Request-Id": "trace-7"})
    entry = desk.get("/v1/audit", limit=1)["data"][0]
    assert entry.pop("id").startswith("aud_")
    assert entry.pop("created") >= reply["updated"]
    assert entry == {
        "object": "audit_entry", "action": "content.updated", "actorType": "key", "actorId": key.pk,
        "actorName": f"Desk ({key.prefix}…)", "resourceType": "content", "resourceId": item["id"],
        "resourceTitle": "Markets", "changes": {"status": ["active", "archived"]}, "requestId": "trace-7",
        "address": "127.0.0.1",
    }  # fmt: skip


def test_the_entries_of_a_creation_and_deletion_list_all_fields(api, item, last):
    entry = last()
    assert entry["changes"] == {
        "title": [None, "Markets"], "type": [None, "article"], "metadata.author": [None, "Ada"],
        "metadata.edition": [None, 1], "tags": [None, ["new"]], "status": [None, "active"],
    }  # fmt: skip
    api.delete(f"/v1/content/{item['id']}")
    assert last()["action"] == "content.deleted"
    assert last()["changes"] == {name: [value, None] for name, (_, value) in entry["changes"].items()}
    assert api.get(f"/v1/audit/{entry['id']}").body == entry


def test_only_changed_fields_are_listed(api, item, last):
    for fields, changes in [
        ({"metadata": {"edition": True}}, {"metadata.edition": [1, True]}),
        ({"metadata": {"author": None, "category": "law"}},
         {"metadata.author": ["Ada", None], "metadata.category": [None, "law"]}),
        ({"tags": []}, {"tags": [["new"], []]}),
        ({"title": "Markets", "source": "https://e.example/"}, {"source": [None, "https://e.example/"]}),
        ({"metadata": {"rate": 1e22}}, {"metadata.rate": [None, 1e22]}),
    ]:  # fmt: skip
        api.patch(f"/v1/content/{item['id']}", fields)
        assert last()["changes"] == changes


def test_entries_of_policies_and_rotations_name_what_they_concern(api, last, account):
    policy = api.post("/v1/policies", {"name": "Terms"})
    api.patch(f"/v1/policies/{policy['id']}", {"rules": [factories.DENY_ALL]})
    assert last()["changes"] == {"rules": [[], [factories.DENY_ALL]], "version": [1, 2]}
    api.post(f"/v1/policies/{policy['id']}/rollback", {"version": 1})
    assert last()["action"] == "policy.rolled_back"
    assert last()["changes"] == {"rules": [[factories.DENY_ALL], []], "version": [2, 3]}
    old, _ = factories.api_key(account)
    new = api.post(f"/v1/api-keys/{old.pk}/rotate", {})
    ended, created = api.get("/v1/audit", limit=2)["data"]
    assert [ended["action"], ended["resourceId"]] == ["api_key.rotated", old.pk]
    assert list(ended["changes"]) == ["revokedAt"]
    assert [created["action"], created["resourceId"]] == ["api_key.created", new["id"]]
    assert ended["requestId"] == created["requestId"]


def test_the_log_begins_with_the_account_and_is_not_for_public_keys(api, account):
    assert len(auditlog.entries(account=account)) == 2  # the account and the key
    reply = api.post("/v1/api-keys", {"name": "x", "type": "public", "permissions": ["content:read", "audit:read"]})
    assert reply.status_and_param == (422, "permissions[1]")
    [entry] = api.get("/v1/audit", resourceId=account.pk)["data"]
    assert [entry["action"], entry["actorType"], entry["actorId"]] == ["account.created", "system", None]
    assert entry["changes"]["plan"] == [None, "enterprise"]
