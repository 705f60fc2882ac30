"""Each endpoint checks its permissions before anything else (docs/reference/api.md)."""

from django.urls import get_resolver

from accounts.keys.permissions import PERMISSIONS
from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import (
    ENDPOINTS,
    each,
    each_endpoint_with_key,
    each_endpoint_with_permission,
    each_with_body,
    each_with_id,
    routes,
)


def but_for(endpoint):
    """Return all permissions except the last one that the endpoint needs."""
    return sorted(set(PERMISSIONS) - {"*", endpoint.permissions[-1]})


def denied(reply, endpoint):
    """Assert that a response names the permission that the key lacks, and return True."""
    assert reply.status == 403, reply
    error = reply.error
    assert (error["code"], error["type"]) == ("insufficient_permissions", "authorization_error")
    assert endpoint.permissions[-1] in error["message"]
    assert "param" not in error
    return True


@each_endpoint_with_key()
def test_the_one_permission_is_enough(account, ids, endpoint):
    # A key grants only its own permissions, so created keys lack it too.
    body = {**endpoint.body, "permissions": []} if endpoint.path == "/v1/api-keys" and endpoint.body else None
    if endpoint.path.endswith("/rotate"):
        ids["key"] = factories.api_key(account, permissions=[])[0].pk
    holder = ApiClient(factories.key_text(account, permissions=endpoint.permissions))
    reply = endpoint.send(holder, ids, **({"json": body} if body else {}))
    assert reply.status == endpoint.status


@each_endpoint_with_permission()
def test_all_the_others_are_not(account, ids, endpoint):
    reply = endpoint.send(ApiClient(factories.key_text(account, permissions=but_for(endpoint))), ids)
    assert denied(reply, endpoint)


@each([endpoint for endpoint in ENDPOINTS if len(endpoint.permissions) > 1])
def test_one_of_two_permissions_is_not_enough(account, ids, endpoint):
    for missing in endpoint.permissions:
        others = [one for one in endpoint.permissions if one != missing]
        reply = endpoint.send(ApiClient(factories.key_text(account, permissions=others)), ids)
        assert (reply.status, missing in reply.error["message"]) == (403, True)


@each_endpoint_with_permission()
def test_without_the_permission_a_refused_write_leaves_everything(api, account, ids, endpoint):
    before = [api.get(path).body for path in ("/v1/content", "/v1/policies", "/v1/access/decisions")]
    endpoint.send(ApiClient(factories.key_text(account, permissions=but_for(endpoint))), ids)
    assert [api.get(path).body for path in ("/v1/content", "/v1/policies", "/v1/access/decisions")] == before


@each_with_body()
def test_the_permission_is_asked_for_before_the_body_is_read(account, ids, endpoint):
    holder = ApiClient(factories.key_text(account, permissions=but_for(endpoint)))
    for body in (b"", b"{", b'{"unknown": 1}', b"\xff", b'"' + b"x" * 1_100_000 + b'"'):
        assert denied(endpoint.send(holder, ids, json=body), endpoint)


@each_with_id()
def test_the_permission_is_asked_for_before_the_resource_is_sought(account, ids, endpoint):
    holder = ApiClient(factories.key_text(account, permissions=but_for(endpoint)))
    for unknown in ("no-id", "cnt_" + "0" * 26):
        assert denied(endpoint.send(holder, dict.fromkeys(ids, unknown)), endpoint)


@each_endpoint_with_permission()
def test_the_permission_is_asked_for_before_the_query_is_read(account, ids, endpoint):
    holder = ApiClient(factories.key_text(account, permissions=but_for(endpoint)))
    assert denied(endpoint.send(holder, ids, unknown="1"), endpoint)


def test_the_tables_of_a_viewset_name_its_actions_and_no_others():
    actions: dict = {}
    for path, callback in routes(get_resolver().url_patterns):
        if path.startswith("/v1/") and path != "/v1/openapi.json":
            actions.setdefault(callback.cls, set()).update(callback.actions.values())
    for viewset, known in actions.items():
        assert set(viewset.permissions_required) == known
        assert {*viewset.heavy, *viewset.exportable, *(viewset.listing - {"list"})} <= known
