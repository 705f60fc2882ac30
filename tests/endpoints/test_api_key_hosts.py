"""`allowedHosts` of keys: valid values, and who may widen them (docs/reference/api.md, Keys)."""

import pytest

from tests import factories
from tests.client import ApiClient

NEW = {"name": "Edge", "type": "secret", "permissions": ["access:check"]}
MANAGER = ["api_keys:manage", "access:check"]


@pytest.fixture
def manager(account):
    """A client whose key manages keys for two hosts."""
    hosts = ["pub.example", "second.example"]
    return ApiClient(factories.key_text(account, permissions=MANAGER, allowed_hosts=hosts))


def assert_refused(reply):
    assert (reply.status, reply.error["code"], reply.error["param"]) == (
        403,
        "insufficient_permissions",
        "allowedHosts",
    )


@pytest.mark.parametrize(
    ("sent", "kept"), [("PUB.example.", "pub.example"), ("bücher.example", "xn--bcher-kva.example")]
)
def test_hosts_are_kept_in_their_normal_form(api, sent, kept):
    assert api.post("/v1/api-keys", {**NEW, "allowedHosts": [sent]})["allowedHosts"] == [kept]


@pytest.mark.parametrize(
    "host", ["https://pub.example", "pub.example:80", "*.pub.example", "pub.example/a", "", "a b"]
)
def test_what_is_no_host_name_is_refused(api, host):
    reply = api.post("/v1/api-keys", {**NEW, "allowedHosts": [host]})
    assert (reply.status, reply.error["param"]) == (422, "allowedHosts[0]")


def test_a_key_has_a_hundred_hosts_at_most(api):
    hosts = [f"host-{number}.example" for number in range(101)]
    assert api.post("/v1/api-keys", {**NEW, "allowedHosts": hosts[:100]}).status == 201
    assert api.post("/v1/api-keys", {**NEW, "allowedHosts": hosts}).error["param"] == "allowedHosts"


def test_hosts_are_changed_by_patch_and_in_bulk(api):
    made = api.post("/v1/api-keys", NEW)
    path = f"/v1/api-keys/{made['id']}"
    assert made["allowedHosts"] == []
    assert api.patch(path, {"allowedHosts": ["pub.example"]})["allowedHosts"] == ["pub.example"]
    rows = [{"id": made["id"], "allowedHosts": ["second.example"]}, {**NEW, "allowedHosts": ["pub.example"]}]
    outcomes = api.post("/v1/api-keys/bulk", {"items": rows})["data"]
    assert [one["apiKey"]["allowedHosts"] for one in outcomes] == [["second.example"], ["pub.example"]]
    assert api.get(path)["allowedHosts"] == ["second.example"]


def test_rotating_keeps_the_hosts(api, account):
    old, _ = factories.api_key(account, allowed_hosts=["pub.example"])
    assert api.post(f"/v1/api-keys/{old.pk}/rotate", {})["allowedHosts"] == ["pub.example"]


def test_a_key_passes_its_hosts_on_to_the_keys_that_it_creates(manager):
    assert manager.post("/v1/api-keys", NEW)["allowedHosts"] == ["pub.example", "second.example"]
    assert manager.post("/v1/api-keys", {**NEW, "allowedHosts": ["pub.example"]}).status == 201


@pytest.mark.parametrize("hosts", [[], ["other.example"], ["pub.example", "other.example"]])
def test_a_key_opens_no_further_hosts(manager, account, hosts):
    assert_refused(manager.post("/v1/api-keys", {**NEW, "allowedHosts": hosts}))
    narrow, _ = factories.api_key(account, permissions=["access:check"], allowed_hosts=["pub.example"])
    assert_refused(manager.patch(f"/v1/api-keys/{narrow.pk}", {"allowedHosts": hosts}))


def test_a_key_does_not_rotate_one_for_further_hosts(manager, account):
    wide, _ = factories.api_key(account, permissions=["access:check"])
    assert_refused(manager.post(f"/v1/api-keys/{wide.pk}/rotate", {}))


def test_other_endpoints_ignore_the_hosts(account):
    item = factories.content(account, source="https://other.example/a")
    bound = ApiClient(factories.key_text(account, allowed_hosts=["pub.example"]))
    checked = bound.post("/v1/access/check", {"source": item.source, "requester": "org"})
    assert (checked.status, bound.get("/v1/content").status) == (200, 200)
