import pytest

from tests import factories
from tests.client import ApiClient
from tests.endpoints.key_fields import assert_beyond_key

NEW = {"name": "Edge", "type": "secret", "permissions": ["access:check"]}
MANAGER = ["api_keys:manage", "access:check"]


@pytest.fixture
def manager(account):
    """A client whose key manages keys for two hosts."""
    hosts = ["pub.example", "second.example"]
    return ApiClient(factories.key_text(account, permissions=MANAGER, allowed_hosts=hosts))


def assert_refused(reply):
    assert_beyond_key(reply, "allowedHosts")


def test_hosts_are_validated_and_normalised(api):
    for sent, kept in [("PUB.example.", "pub.example"), ("bücher.example", "xn--bcher-kva.example")]:
        assert api.post("/v1/api-keys", {**NEW, "allowedHosts": [sent]})["allowedHosts"] == [kept]
    for host in ["https://pub.example", "pub.example:80", "*.pub.example", "pub.example/a", "", "a b"]:
        assert api.post("/v1/api-keys", {**NEW, "allowedHosts": [host]}).status_and_param == (422, "allowedHosts[0]")
    hosts = [f"host-{number}.example" for number in range(101)]
    assert api.post("/v1/api-keys", {**NEW, "allowedHosts": hosts[:100]}).status == 201
    assert api.post("/v1/api-keys", {**NEW, "allowedHosts": hosts}).error["param"] == "allowedHosts"


def test_hosts_are_changed_by_patch_and_in_bulk_and_kept_by_rotation(api, account):
    made = api.post("/v1/api-keys", NEW)
    path = f"/v1/api-keys/{made['id']}"
    assert made["allowedHosts"] == []
    assert api.patch(path, {"allowedHosts": ["pub.example"]})["allowedHosts"] == ["pub.example"]
    rows = [{"id": made["id"], "allowedHosts": ["second.example"]}, {**NEW, "allowedHosts": ["pub.example"]}]
    outcomes = api.post("/v1/api-keys/bulk", {"items": rows})["data"]
    assert [one["apiKey"]["allowedHosts"] for one in outcomes] == [["second.example"], ["pub.example"]]
    assert api.get(path)["allowedHosts"] == ["second.example"]
    old, _ = factories.api_key(account, allowed_hosts=["pub.example"])
    assert api.post(f"/v1/api-keys/{old.pk}/rotate", {})["allowedHosts"] == ["pub.example"]


def test_a_key_opens_no_further_hosts_than_its_own(manager, account):
    assert manager.post("/v1/api-keys", NEW)["allowedHosts"] == ["pub.example", "second.example"]
    assert manager.post("/v1/api-keys", {**NEW, "allowedHosts": ["pub.example"]}).status == 201
    for hosts in [[], ["other.example"], ["pub.example", "other.example"]]:
        assert_refused(manager.post("/v1/api-keys", {**NEW, "allowedHosts": hosts}))
        narrow, _ = factories.api_key(account, permissions=["access:check"], allowed_hosts=["pub.example"])
        assert_refused(manager.patch(f"/v1/api-keys/{narrow.pk}", {"allowedHosts": hosts}))
    wide, _ = factories.api_key(account, permissions=["access:check"])
    assert_refused(manager.post(f"/v1/api-keys/{wide.pk}/rotate", {}))
    item = factories.content(account, source="https://other.example/a")
    bound = ApiClient(factories.key_text(account, allowed_hosts=["pub.example"]))
    checked = bound.post("/v1/access/check", {"source": item.source, "requester": "org"})
    assert (checked.status, bound.get("/v1/content").status) == (200, 200)
