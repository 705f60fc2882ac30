import pytest

from tests import factories
from tests.client import ApiClient


@pytest.fixture
def item(account, policy):
    return factories.content(account, policy_id=policy.pk, tags=["law"])


def check(api, item, **fields):
    body = {"contentId": item.pk, "requester": factories.LICENSED_REQUESTER, "explain": True, **fields}
    return api.post("/v1/access/check", body).body


def test_a_decision_is_read_as_it_was_answered_with_its_trace(api, item, account):
    for fields in [
        {},
        {"requester": "org_b"},
        {"requester": {"id": "org_c", "licenseType": "personal"}, "permission": "print"},
        {"context": {"ip": "203.0.113.9", "userAgent": "Bot"}},
    ]:
        made = check(api, item, **fields)
        path = f"/v1/access/decisions/{made['id']}"
        given = {"context": fields["context"]} if "context" in fields else {}
        assert api.get(path).body == {**made, **given}
    assert ApiClient(factories.key_text(account, permissions=["access:check"])).get(path).status == 200
    made = check(api, item, explain=False)
    trace = api.get(f"/v1/access/decisions/{made['id']}")["trace"]
    assert [(step["index"], step["matched"]) for step in trace] == [(0, True), (1, True)]
    made = check(api, factories.content(account))
    assert api.get(f"/v1/access/decisions/{made['id']}").body == made


def test_a_recorded_decision_names_the_key_that_asked(api, account, item, connect):
    key, text = factories.api_key(account)
    gateway = connect(text)
    made = gateway.post("/v1/access/check", {"contentId": item.pk, "requester": "org_b"})
    batch = gateway.post("/v1/access/check/batch", {"requester": "org_b", "checks": [{"contentId": item.pk}]})
    for id in (made["id"], batch["data"][0]["id"]):
        assert api.get(f"/v1/access/decisions/{id}", expand="key")["keyId"] == key.pk
    assert {one["keyId"] for one in api.get("/v1/access/decisions", expand="key")["data"]} == {key.pk}


def test_a_decision_stays_the_same_when_its_policy_and_item_change(api, item, policy):
    made = check(api, item)
    api.patch(f"/v1/policies/{policy.pk}", {"rules": [factories.DENY_ALL], "name": "Closed"})
    api.patch(f"/v1/content/{item.pk}", {"status": "archived", "tags": [], "policyId": None})
    check(api, item, requester={"id": "org_acme", "name": "Renamed"})
    api.delete(f"/v1/content/{item.pk}")
    assert api.get(f"/v1/access/decisions/{made['id']}").body == made


def test_a_decision_on_archived_content_has_no_trace(api, item):
    api.patch(f"/v1/content/{item.pk}", {"status": "archived"})
    made = check(api, item)
    kept = api.get(f"/v1/access/decisions/{made['id']}").body
    assert kept == made
    assert (kept["reason"], kept["trace"]) == ("content_archived", [])
