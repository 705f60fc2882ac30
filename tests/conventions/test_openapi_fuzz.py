"""The service against its own OpenAPI document: requests made up from it, right ones and wrong ones."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import (
    ignored_auth,
    negative_data_rejection,
    positive_data_acceptance,
    response_schema_conformance,
)

from config.wsgi import application
from tests.client import ApiClient
from tests.conventions.endpoints import ENDPOINTS, Endpoint, each
from tests.examples import examples

pytestmark = pytest.mark.django_db  # which the fixtures of a test that is made up cannot say

# Formats that are not JSON Schema's own.
schemathesis.openapi.format("ip-range", st.ip_addresses().map(str) | st.just("203.0.113.0/24"))
schemathesis.openapi.format("uri", st.sampled_from(["https://example.com/a?b=c", "http://localhost:8000"]))

# What no document can foresee: whether a cursor, an id or a version is one that the service has given out, and rules
# that JSON Schema has no words for: the names of further keys, what a public key may do, which URLs have a host, that
# a check of a batch names its item in one way, that a draft needs a dry run, that an adjustment is not 0,
# that a window ends after it begins, and a licence likewise, that a licence begins in a year from 2000 to 2999, that a
# file has no pages, what is a host name, and what a pattern of paths, which URLs lead to the public internet, which
# headers can be set, which types of events and which currencies there are.
UNFORESEEABLE = re.compile(
    r"((price|pricePerAccess)\.)?amount|(policy\.)?rules\[\d+\]\.pricePerAccess\.(amount|currency)|siteId|contentIds\[\d+\]|policyIds\[\d+\]|occurredAt|licenseId|decisionId|requesterId|cursor|fields|policyId|version|permissions\[\d+\]|metadata(\..*)?"
    r"|(checks\[\d+\]\.)?(source|context\.ip|contentId|externalId|requester|policy|startDate|endDate|groupBy|expiresAt)|startsAt"
    r"|host|rules\[\d+\]\.(pattern|policyId)"
    r"|(items\[\d+\]\.)?(url|contentId)|headers(\..*)?|events\[\d+\]|webhookId"
)

DOCUMENTED = [endpoint for endpoint in ENDPOINTS if endpoint.path != "/v1/openapi.json"]


@cache
def document() -> dict[str, Any]:
    return SchemaGenerator().get_schema(request=None, public=True)


def anonymous(path: str) -> str:
    return re.sub(r"{\w+}", "{}", path)


@pytest.fixture
def schema(endpoint: Endpoint) -> Any:
    """The document with one path, and one operation to try.

    Cases are made up in the test: at collection every worker would make up all.
    """
    [path] = [path for path in document()["paths"] if anonymous(path) == anonymous(endpoint.path)]
    made = schemathesis.openapi.from_dict(
        {**document(), "paths": {path: document()["paths"][path]}},
        # U+0000 is refused everywhere, which no pattern says; that has a test of its own.
        config=schemathesis.Config.from_dict({"generation": {"allow-x00": False}}),
    )
    made.app = application
    made.location = "/v1/openapi.json"
    return made.include(method=endpoint.method)


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """Keeps a request's end from closing the connection that holds the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def foreseeable(reply: Any) -> bool:
    """Whether the document could have said that this request would be refused."""
    if reply.status_code not in (400, 422):
        return True
    error = reply.json()["error"]
    # A few control characters are white space to the service, and none to the pattern `\S`.
    blank = error["message"] == "Must not be blank."
    # 87.0 is an integer to JSON Schema, and none to the service, which wants a literal without a fraction.
    with_fraction = error["message"].startswith("Must be an integer")
    paged_file = error["message"].startswith("A file has everything")
    return not (
        blank
        or paged_file
        or with_fraction
        or error["code"] == "idempotency_mismatch"
        or UNFORESEEABLE.fullmatch(error.get("param", ""))
    )


seen: Counter[str] = Counter()


def is_sampled(case: Any) -> bool:
    """The first twenty of the systematic cases of an operation, then every tenth: some have hundreds."""
    if case.meta.phase.name.value != "coverage":
        return True
    seen[case.operation.label] += 1
    return seen[case.operation.label] <= 20 or seen[case.operation.label] % 10 == 0


@each(DOCUMENTED)
@schemathesis.pytest.from_fixture("schema").parametrize()
@settings(max_examples=examples(20), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_reply_is_one_that_the_document_tells_of(case: Any, api: ApiClient):
    if not is_sampled(case):
        return
    reply = case.call(headers={**api.headers, "Accept-Encoding": "identity"})
    # Without a key it would soon meet the limit of its address; what keys are for is tested elsewhere.
    excluded = [ignored_auth] if foreseeable(reply) else [ignored_auth, positive_data_acceptance]
    if case.method == "GET":
        # What it takes for wrong a query may not show: one value where a list is due, a further parameter without
        # any. That wrong ones are refused is in test_filter_refusals.py.
        excluded.append(negative_data_rejection)
    elif case.path.endswith("/bulk"):  # what is wrong with a row is told of that row
        excluded.append(negative_data_rejection)
    if "fields" in (case.query or {}):  # such a reply has no more of what its schema requires than was asked for
        excluded.append(response_schema_conformance)
    case.validate_response(reply, headers=api.headers, excluded_checks=excluded)
