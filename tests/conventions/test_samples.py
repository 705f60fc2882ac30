"""The samples in tests/conventions/endpoints.py cover every endpoint and succeed."""

import re

from tests import auditlog
from tests.conventions.endpoints import (
    ENDPOINTS,
    LISTS,
    NOT_AUDITED,
    WRITES,
    each_endpoint,
    each_read,
    known_to_the_resolver,
)


def test_every_endpoint_has_a_sample():
    sampled = {(endpoint.method, re.sub(r"\{\w+\}", "{}", endpoint.path)) for endpoint in ENDPOINTS}
    assert sampled == known_to_the_resolver()


@each_endpoint()
def test_every_sample_is_answered_well(api, ids, endpoint):
    reply = endpoint.send(api, ids)
    assert reply.status == endpoint.status
    assert reply.headers["Content-Type"] == "application/json"


@each_read()
def test_every_list_is_known_as_one(api, ids, endpoint):
    is_list = endpoint.send(api, ids).body.get("object") == "list"
    assert is_list == (endpoint.path in LISTS)


@each_endpoint()
def test_every_sample_that_changes_something_is_in_the_audit_log(api, ids, endpoint):
    known = {entry.pk for entry in auditlog.entries()}
    endpoint.send(api, ids)
    made = [entry for entry in auditlog.entries() if entry.pk not in known]
    if endpoint.method in WRITES and endpoint.path not in NOT_AUDITED:
        assert made, "The service behind it calls audit.record(), see accounts/audit.py."
    else:
        assert made == []
