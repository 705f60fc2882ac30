import re

import pytest

from tests import auditlog, factories
from tests.client import ApiClient
from tests.conventions.endpoints import ENDPOINTS, LISTS, NOT_AUDITED, WRITES, each_endpoint, known_to_the_resolver
from tests.conventions.replies import assert_has_all_headers

# Replies with secrets or decisions, which no cache may keep.
NEVER_STORED = (
    "/v1/api-keys", "/v1/license-clients", "/v1/access", "/v1/webhooks", "/v1/requesters/{requester}/portal-sessions",
)  # fmt: skip
POWERLESS_KEY = {"name": "New", "type": "secret", "permissions": []}
# A key grants only its own permissions, so the keys that it creates get none.
WITHOUT_PERMISSIONS = {"POST /v1/api-keys": POWERLESS_KEY, "POST /v1/api-keys/bulk": {"items": [POWERLESS_KEY]}}


@pytest.fixture
def holder(account, endpoint):
    """A client whose key has only the permissions that the endpoint needs."""
    return ApiClient(factories.key_text(account, permissions=endpoint.permissions))


def test_every_endpoint_has_a_sample():
    sampled = {(endpoint.method, re.sub(r"\{\w+\}", "{}", endpoint.path)) for endpoint in ENDPOINTS}
    assert sampled == known_to_the_resolver()


@each_endpoint()
def test_every_sample_succeeds_with_its_permissions_alone(account, ids, endpoint, holder):
    if endpoint.path.endswith("/rotate"):
        ids["key"] = factories.api_key(account, permissions=[])[0].pk
    earlier = {entry.pk for entry in auditlog.entries()}
    body = WITHOUT_PERMISSIONS.get(str(endpoint), endpoint.filled(ids)[1])
    headers = {} if endpoint.method == "POST" else {"Idempotency-Key": "é bad key"}

    reply = endpoint.send(holder, ids, json=body, headers=headers)

    assert reply.status == endpoint.status, reply
    assert_has_all_headers(reply)
    assert "Idempotent-Replayed" not in reply.headers, "Only POST looks at Idempotency-Key."
    if endpoint.status == 201:
        assert {"ETag", "Location"} <= set(reply.headers), "A new resource comes with its tag and its address."
    if endpoint.permission is not None:
        is_secret = endpoint.path.startswith(NEVER_STORED)
        assert reply.headers["Cache-Control"] == ("no-store" if is_secret else "private, no-cache")
    if endpoint.method == "GET":
        is_list = reply.body.get("object") == "list"
        assert is_list == (endpoint.path in LISTS), "LISTS names exactly the lists."
    is_audited = endpoint.method in WRITES and endpoint.path not in NOT_AUDITED
    new_entries = [entry for entry in auditlog.entries() if entry.pk not in earlier]
    assert bool(new_entries) == is_audited, "The service behind a write calls audit.record(), see accounts/audit.py."
