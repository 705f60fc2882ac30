from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import get_resolver

from accounts.events.event_types import PERMISSIONS, TYPES
from accounts.keys.permissions import PERMISSIONS as KNOWN
from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import WITH_KEY, each, routes

HOOK_URL = "https://hooks.example/in"
DRAFT = {"rules": [factories.ALLOW_ALL]}


@pytest.fixture
def item(account):
    return factories.content(account, policy=factories.policy(account))


@pytest.fixture
def hooks(account):
    """A client whose key manages webhooks and reads content, and nothing else."""
    return ApiClient(factories.key_text(account, permissions=["webhooks:manage", "content:read"]))


def assert_refused(reply, name):
    """Assert that a reply names the field that needs the permission to read policies."""
    expected = f"This key lacks the permission policies:read, which `{name}` needs."
    assert reply.status_and_code == (403, "insufficient_permissions")
    assert reply.error["message"] == expected


def test_traces_and_proposed_policies_need_the_permission_to_read_policies(connect, account, item):
    checking = connect(factories.key_text(account, permissions=["access:check"]))
    reading = connect(factories.key_text(account, permissions=["access:check", "policies:read"]))
    check = {"contentId": item.pk, "requester": "org_acme"}
    explained, drafted = {**check, "explain": True}, {**check, "dryRun": True, "policy": DRAFT}
    for body, name in ((explained, "explain"), (drafted, "policy")):
        assert_refused(checking.post("/v1/access/check", body), name)
        assert_refused(checking.post("/v1/access/check", {**body, "contentId": 5}), name)
        assert reading.post("/v1/access/check", body).status == 200
        for batch in (
            {"requester": "org_acme", "checks": [check, body]},
            {**body, "contentId": None, "checks": [{"contentId": item.pk}]},
        ):
            assert_refused(checking.post("/v1/access/check/batch", batch), name)
            assert reading.post("/v1/access/check/batch", batch).status == 200
    for harmless in ({"explain": False}, {"explain": None, "policy": None}):
        assert checking.post("/v1/access/check", {**check, **harmless}).status == 200
    assert checking.post("/v1/access/check", {**check, "explain": "yes"}).status == 422

    checks = [{"contentId": item.pk, "correlationId": "x" * 255} for _ in range(100)]
    checks[-1]["explain"] = True
    batch = {"requester": "org_acme", "context": {"userAgent": "x" * 500}, "checks": checks}
    assert_refused(checking.post("/v1/access/check/batch", batch), "explain")

    once = {"Idempotency-Key": "once"}
    body = {"contentId": item.pk, "requester": "org_acme", "explain": True}
    assert "trace" in reading.post("/v1/access/check", body, headers=once).body
    assert_refused(checking.post("/v1/access/check", body, headers=once), "explain")


def test_a_decision_has_its_trace_for_keys_that_read_policies(account, item, api):
    made = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme", "explain": True})
    path = f"/v1/access/decisions/{made['id']}"
    assert api.get(path)["trace"] == made["trace"]
    checking = ApiClient(factories.key_text(account, permissions=["access:check"]))
    whole = api.get(path).body
    del whole["trace"]
    assert checking.get(path).body == whole
    assert checking.get(path, fields="trace,allowed").body.keys() == {"id", "object", "allowed"}


def test_events_are_visible_to_keys_that_read_their_objects(hooks, api):
    item = api.post("/v1/content", {"title": "Markets"})
    api.post("/v1/policies", {"name": "Open", "rules": []})
    api.post("/v1/licenses", {"requesterId": "org_acme", "licenseType": "commercial"})
    api.post("/v1/api-keys", {"name": "Page", "type": "public"})
    every = api.get("/v1/events").body
    assert {one["type"] for one in every["data"]} >= {"content.created", "policy.created", "license.created"}
    assert "api_key.created" in {one["type"] for one in every["data"]}

    seen = hooks.get("/v1/events").body
    assert [one["data"]["id"] for one in seen["data"]] == [item["id"]]
    assert seen["totalCount"] == 1
    assert hooks.get("/v1/events", type="license.created").body["data"] == []
    assert hooks.get("/v1/events", format="jsonl").content.count(b"\n") == 1
    for one in every["data"]:
        is_visible = one["type"] == "content.created"
        assert hooks.get(f"/v1/events/{one['id']}").status == (200 if is_visible else 404)
        path = f"/v1/events/{one['id']}/redeliver"
        assert hooks.post(path, {"webhookId": "whk_unknown"}).status == (422 if is_visible else 404)


def test_the_events_of_every_kind_of_object_need_a_permission():
    assert {one.object for one in TYPES} == PERMISSIONS.keys()
    assert set(PERMISSIONS.values()) <= KNOWN.keys()


def assert_lacks(reply, permission):
    """Assert that the key may not have those events sent, and that the error says what would do."""
    assert reply.status_and_code == (403, "insufficient_permissions")
    message = reply.error["message"]
    assert message.startswith(f"This key lacks the permission {permission}, which ")
    assert "narrower `events`" in message


def test_an_endpoint_receives_only_events_that_its_key_may_read(hooks, api):
    assert_lacks(hooks.post("/v1/webhooks", {"url": HOOK_URL}), "policies:read")
    assert_lacks(hooks.post("/v1/webhooks", {"url": HOOK_URL, "events": ["*"]}), "policies:read")
    assert_lacks(hooks.post("/v1/webhooks", {"url": HOOK_URL, "events": ["content.*", "wallet.low"]}), "licenses:read")
    assert_lacks(hooks.post("/v1/webhooks", {"url": HOOK_URL, "events": ["api_key.*"]}), "api_keys:manage")
    assert_lacks(hooks.post("/v1/webhooks", {"url": HOOK_URL, "events": ["access.denied"]}), "analytics:read")
    assert api.get("/v1/webhooks")["data"] == []
    own = ["content.*", "import.finished", "webhook_endpoint.disabled"]
    made = hooks.post("/v1/webhooks", {"url": HOOK_URL, "events": own})
    assert made.status == 201
    path = f"/v1/webhooks/{made['id']}"
    assert hooks.patch(path, {"url": f"{HOOK_URL}/2", "events": ["content.created"]}).status == 200
    assert_lacks(hooks.patch(path, {"events": ["content.created", "license.*"]}), "licenses:read")
    assert hooks.post(f"{path}/recover", {"since": "2026-01-01"}).status == 200


def test_an_endpoint_of_wider_events_stays_where_it_leads(hooks, api, account):
    endpoint, _ = factories.endpoint(account)
    api.post("/v1/content", {"title": "Markets"})
    [event] = hooks.get("/v1/events", type="content.created").body["data"]
    path = f"/v1/webhooks/{endpoint.pk}"
    assert_lacks(hooks.patch(path, {"url": "https://hooks.example/elsewhere"}), "policies:read")
    # Deliveries of the former events may still wait for a retry.
    assert_lacks(hooks.patch(path, {"events": ["content.*"]}), "policies:read")
    assert_lacks(hooks.post(f"{path}/recover", {}), "policies:read")
    assert_lacks(hooks.post(f"{path}/recover", {"dryRun": True}), "policies:read")
    assert_lacks(hooks.post(f"/v1/events/{event['id']}/redeliver", {"webhookId": endpoint.pk}), "policies:read")
    shown = hooks.get(path).body
    assert hooks.patch(path, shown).body == shown
    assert hooks.patch(path, {"description": "News", "status": "disabled"}).status == 200


def test_a_stored_reply_shows_no_event_that_the_key_may_not_read(hooks, api, account):
    once = {"Idempotency-Key": "once"}
    wide = {"url": HOOK_URL}
    endpoint = api.post("/v1/webhooks", wide, headers=once)
    assert_lacks(hooks.post("/v1/webhooks", wide, headers=once), "policies:read")
    api.post("/v1/policies", {"name": "Open", "rules": []})
    [event] = api.get("/v1/events", type="policy.created").body["data"]
    path, twice = f"/v1/events/{event['id']}/redeliver", {"Idempotency-Key": "twice"}
    assert api.post(path, {"webhookId": endpoint["id"]}, headers=twice).status == 200
    assert hooks.post(path, {"webhookId": endpoint["id"]}, headers=twice).status == 404


@pytest.fixture
def page(account):
    """A client with a public key that may read everything."""
    permissions = [name for name in KNOWN if name.endswith(":read") and name != "audit:read"]
    return ApiClient(factories.key_text(account, type="public", permissions=permissions))


def test_public_keys_cannot_lint_simulate_or_list_versions(page, api, account):
    policy = factories.policy(account)
    for method, path in (
        ("POST", "/v1/policies/lint"),
        ("POST", f"/v1/policies/{policy.pk}/simulate"),
        ("GET", f"/v1/policies/{policy.pk}/versions"),
    ):
        body = {"rules": []} if "lint" in path else {} if method == "POST" else None
        assert api.request(method, path, body).status == 200
        reply = page.request(method, path, body)
        assert reply.status_and_code == (403, "insufficient_permissions")
        assert reply.error["message"] == "A public key cannot call this endpoint. Use a secret key."


def fields_for_secret_keys() -> dict[str, frozenset[str]]:
    """Return the fields that serializers keep from public keys, by the `object` that they show."""
    hidden = {}
    for _, view in routes(get_resolver().url_patterns):
        serializer = getattr(getattr(view, "cls", None), "serializer_class", None)
        if names := getattr(serializer, "for_secret_keys", None):
            [kind] = serializer().fields["object"].choices
            hidden[kind] = names
    return hidden


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON value, at any depth."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for member in value:
            yield from objects_in(member)


@each([endpoint for endpoint in WITH_KEY if endpoint.method == "GET"])
def test_no_get_shows_public_keys_what_only_secret_keys_see(page, ids, endpoint):
    hidden = fields_for_secret_keys()
    assert hidden.keys() == {"policy", "site", "account"}
    reply = page.get(endpoint.address(ids))
    assert reply.status in (200, 403)
    if reply.headers["Content-Type"].startswith("application/json"):
        for shown in objects_in(reply.body):
            assert not hidden.get(shown.get("object"), set()) & shown.keys()


def test_public_keys_see_nothing_internal_of_policies_sites_and_plans(page, api):
    tests = [{"name": "Acme reads", "requester": {"id": "org_acme"}, "expect": {"allowed": True}}]
    fields = {"rules": [factories.ALLOW_ALL], "tests": tests, "metadata": {"a": 1}}
    made = api.post("/v1/policies", {"name": "Open", **fields})
    item = api.post("/v1/content", {"title": "Markets", "policyId": made["id"]})
    hidden = {"tests", "metadata"}
    shown = {name: value for name, value in made.body.items() if name not in hidden}
    assert page.get(f"/v1/policies/{made['id']}").body == shown
    assert page.get("/v1/policies").body["data"] == [shown]
    assert page.get(f"/v1/content/{item['id']}", expand="policy")["policy"] == shown
    assert page.get("/v1/content", expand="policy").body["data"][0]["policy"] == shown
    assert api.get(f"/v1/content/{item['id']}", expand="policy")["policy"] == made.body
    assert page.get(f"/v1/policies/{made['id']}", fields="name,tests").body.keys() == {"id", "object", "name"}
    assert page.get("/v1/policies", fields="tests").body["data"][0].keys() == {"id", "object"}
    lines = page.get("/v1/policies", format="csv").content.decode().splitlines()
    assert not hidden & set(lines[0].split(","))
    assert b"Acme reads" not in page.get("/v1/policies", format="jsonl").content

    site = api.post("/v1/sites", {"host": "pub.example", "robotsTxt": "User-agent: *\nDisallow: /internal"})
    shown = {name: value for name, value in site.body.items() if name != "robotsTxt"}
    assert page.get(f"/v1/sites/{site['id']}").body == shown
    assert page.get("/v1/sites").body["data"] == [shown]
    me = page.get("/v1/accounts/me").body
    assert not {"limits", "edgeLimits"} & me.keys()
    assert me["key"]["type"] == "public"
    assert {"limits", "edgeLimits"} <= api.get("/v1/accounts/me").body.keys()
    assert page.get("/v1/accounts/me", fields="limits,plan").body.keys() == {"id", "object", "plan"}
