from django.urls import get_resolver

from accounts.keys.permissions import PERMISSIONS
from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import ENDPOINTS, each, each_endpoint_with_permission, routes
from tests.conventions.replies import assert_error


def but_for(endpoint):
    """Return all permissions except the last one that the endpoint needs."""
    return sorted(set(PERMISSIONS) - {"*", endpoint.permissions[-1]})


def assert_denied(reply, endpoint):
    """Assert that a response names the permission that the key lacks."""
    assert reply.status == 403, reply
    error = reply.error
    assert (error["code"], error["type"]) == ("insufficient_permissions", "authorization_error")
    assert endpoint.permissions[-1] in error["message"]
    assert "param" not in error


def stored(api):
    """Return the lists that a write could change."""
    return [api.get(path).body for path in ("/v1/content", "/v1/policies", "/v1/access/decisions")]


@each_endpoint_with_permission()
def test_each_endpoint_checks_its_permission_before_anything_else(api, account, ids, endpoint):
    before = stored(api)
    powerless = ApiClient(factories.key_text(account, permissions=[]))
    assert_error(endpoint.send(powerless, ids), 403, "insufficient_permissions")

    holder = ApiClient(factories.key_text(account, permissions=but_for(endpoint)))
    assert_denied(endpoint.send(holder, ids), endpoint)
    assert_denied(endpoint.send(holder, ids, unknown="1"), endpoint)
    if endpoint.body is not None:
        for body in (b"", b"{", b'{"unknown": 1}', b"\xff", b'"' + b"x" * 1_100_000 + b'"'):
            assert_denied(endpoint.send(holder, ids, json=body), endpoint)
    if endpoint.names_a_resource:
        for unknown in ("no-id", "cnt_" + "0" * 26):
            assert_denied(endpoint.send(holder, dict.fromkeys(ids, unknown)), endpoint)

    assert stored(api) == before, "A refused request changed something."


@each([endpoint for endpoint in ENDPOINTS if len(endpoint.permissions) > 1])
def test_one_of_two_permissions_is_not_enough(account, ids, endpoint):
    for missing in endpoint.permissions:
        others = [one for one in endpoint.permissions if one != missing]
        reply = endpoint.send(ApiClient(factories.key_text(account, permissions=others)), ids)
        assert (reply.status, missing in reply.error["message"]) == (403, True)


def test_the_tables_of_a_viewset_name_its_actions_and_no_others():
    actions: dict = {}
    for path, callback in routes(get_resolver().url_patterns):
        if path.startswith("/v1/") and path != "/v1/openapi.json":
            actions.setdefault(callback.cls, set()).update(callback.actions.values())
    for viewset, known in actions.items():
        assert set(viewset.permissions_required) == known
        assert {*viewset.heavy, *viewset.exportable, *(viewset.listing - {"list"})} <= known
