"""The service against its own OpenAPI document: requests made up from it, right ones and wrong ones."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from config.wsgi import application
from tests.client import ApiClient

# Formats that are not JSON Schema's own.
schemathesis.openapi.format("ip-range", st.ip_addresses().map(str) | st.just("203.0.113.0/24"))
schemathesis.openapi.format("uri", st.sampled_from(["https://example.com/a?b=c", "http://localhost:8000"]))

# What no document can foresee: whether a cursor, an id or a version is one that the service has given out, and rules
# that OpenAPI 3.0 has no words for: the names of further keys, what a public key may do, which URLs have a host, that
# a check of a batch names its item in one way.
UNFORESEEABLE = re.compile(
    r"cursor|policyId|version|permissions\[\d+\]|metadata(\..+)?"
    r"|(checks\[\d+\]\.)?(source|context\.ip|contentId|externalId|requester)"
)

schema = schemathesis.openapi.from_dict(SchemaGenerator(api_version="v1").get_schema(request=None, public=True))
schema.app = application
schema.location = "/v1/openapi.json"


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """Keeps a request's end from closing the connection that holds the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@schema.parametrize()
@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_reply_is_one_that_the_document_tells_of(case: Any, api: ApiClient):
    response = case.call(headers=api.headers)
    # Without a key it would soon meet the limit of its address; tests/conventions/ shows what keys are for.
    excluded = [ignored_auth]
    if response.status_code in (400, 422):
        error = response.json()["error"]
        if error["code"] == "idempotency_mismatch" or UNFORESEEABLE.fullmatch(error.get("param", "")):
            excluded.append(positive_data_acceptance)
    case.validate_response(response, headers=api.headers, excluded_checks=excluded)
