"""Fuzz the service with valid and invalid requests generated from its OpenAPI document.

Every schemathesis failure counts, except those that `by_design` lists.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from zlib import crc32

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis.core import NotSet
from schemathesis.core.failures import FailureGroup
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import ignored_auth

from accounts.models import Account
from config.wsgi import application
from tests.client import ApiClient
from tests.conventions.by_design import is_by_design
from tests.conventions.conftest import Stocked
from tests.conventions.endpoints import ENDPOINTS, Endpoint, each
from tests.examples import FEW, ON_POSTGRESQL, examples
from tests.standing import as_new

pytestmark = pytest.mark.django_db  # which fixtures of generated tests cannot declare

MOST = int(os.environ.get("FUZZ_EXAMPLES", "0"))  # of each operation, beside all systematic cases
SEED = {"seed": int(os.environ["FUZZ_SEED"])} if "FUZZ_SEED" in os.environ else {}  # by default always the same

# Formats that are not JSON Schema's own.
schemathesis.openapi.format("ip", st.ip_addresses().map(str))
schemathesis.openapi.format("ip-range", st.ip_addresses().map(str) | st.just("203.0.113.0/24"))
schemathesis.openapi.format("time-zone", st.sampled_from(["Europe/Berlin", "UTC", "Asia/Kolkata"]))
schemathesis.openapi.format("uri", st.sampled_from(["https://example.com/a?b=c", "http://localhost:8000"]))

DOCUMENTED = [endpoint for endpoint in ENDPOINTS if endpoint.path != "/v1/openapi.json"]
RESOURCES = {"cnt": "content", "pol": "policy", "lic": "license", "site": "site", "key": "key", "dec": "decision"}
RESOURCES |= {"we": "webhook", "evt": "event", "led": "entry"}
IS_ID = re.compile(rf"({'|'.join(RESOURCES)})_[0-7][0-9a-z]{{25}}").fullmatch


LONG = 10_000  # characters: schemathesis needs a second for each pattern with such a maxLength


@cache
def document() -> dict[str, Any]:
    return without_long_limits(SchemaGenerator().get_schema(request=None, public=True))


def without_long_limits(part: Any) -> Any:
    """Leave out each large `maxLength`; tests of the endpoints exceed those."""
    if isinstance(part, list):
        return [without_long_limits(one) for one in part]
    if not isinstance(part, dict):
        return part
    is_long = isinstance(part.get("maxLength"), int) and part["maxLength"] > LONG
    return {name: without_long_limits(one) for name, one in part.items() if not (is_long and name == "maxLength")}


def anonymous(path: str) -> str:
    return re.sub(r"{\w+}", "{}", path)


@pytest.fixture
def schema(endpoint: Endpoint) -> Any:
    """Return the OpenAPI document with one operation.

    Cases are generated in the test: at collection every worker would generate all.
    """
    [path] = [path for path in document()["paths"] if anonymous(path) == anonymous(endpoint.path)]
    made = schemathesis.openapi.from_dict(
        {**document(), "paths": {path: document()["paths"][path]}},
        # U+0000 is refused everywhere, which no pattern says; that has a test of its own.
        config=schemathesis.Config.from_dict(
            {
                "generation": {"allow-x00": False},
                "phases": {"coverage": {"enabled": not (FEW or ON_POSTGRESQL) or bool(MOST)}},
                "operations": [{"exclude-method": endpoint.method, "enabled": False}],
                **SEED,
            }
        ),
    )
    made.app = application
    made.location = "/v1/openapi.json"
    return made


@pytest.fixture(autouse=True, scope="module")
def _standing(ours: Stocked) -> None:
    """Create the account outside the test's transaction, because schemathesis requests fixtures within it."""


@pytest.fixture
def account(db: None, ours: Stocked) -> Account:
    return as_new(ours.account_id)


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """Keep the end of a request from closing the connection that holds the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


seen: Counter[str] = Counter()
enforced: set[str] = set()  # operations that refused a request without a key


def is_sampled(case: Any) -> bool:
    """Whether to run the case: the coverage phase has hundreds, so the first twenty, then every tenth."""
    if MOST or case.meta.phase.name.value != "coverage":
        return True
    seen[case.operation.label] += 1
    return seen[case.operation.label] <= 20 or seen[case.operation.label] % 10 == 0


def is_chosen(value: object) -> bool:
    """Choose half of all values; the same value always gets the same choice."""
    return crc32(repr(value).encode()) % 2 == 0


def with_ours(value: Any, ids: Mapping[str, str]) -> Any:
    """Return the value with about half of its ids replaced by the account's own."""
    if isinstance(value, dict):
        return {
            name: ids["content"] if name == "contentId" and isinstance(member, str) and is_chosen(member)
            else with_ours(member, ids)
            for name, member in value.items()
        }  # fmt: skip
    if isinstance(value, list):
        return [with_ours(member, ids) for member in value]
    if isinstance(value, str) and (found := IS_ID(value)) and is_chosen(value):
        return ids[RESOURCES[found[1]]]
    return value


def name_what_there_is(case: Any, endpoint: Endpoint, ids: Mapping[str, str]) -> None:
    """Give about half of the cases the account's own ids, because generated ids match nothing."""
    if case.path_parameters and not case.meta.is_negative_at(ParameterLocation.PATH):
        resources = re.findall(r"{(\w+)}", endpoint.path)
        if is_chosen((case.path_parameters, case.query, None if isinstance(case.body, NotSet) else case.body)):
            names = re.findall(r"{(\w+)}", case.operation.path)
            case.path_parameters = {name: ids[one] for name, one in zip(names, resources, strict=True)}
    if case.meta.generation.mode.is_positive:
        # An invented cursor is refused before everything else.
        case.query = {
            name: value for name, value in with_ours(case.query, ids).items() if name != "cursor" or is_chosen(value)
        }
        case.body = with_ours(case.body, ids)


@each(DOCUMENTED)
@schemathesis.pytest.from_fixture("schema").parametrize()
@settings(max_examples=MOST or examples(20), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_reply_conforms_to_the_document(case: Any, api: ApiClient, endpoint: Endpoint, ours: Stocked):
    if not is_sampled(case):
        return
    name_what_there_is(case, endpoint, ours.ids)
    is_without_key = case.meta.is_negative_at(ParameterLocation.HEADER) and "Authorization" not in (case.headers or {})
    key = {} if is_without_key else api.headers
    reply = case.call(headers={**key, "Accept-Encoding": "identity"})
    # Once per operation: two more requests. Clients without a key soon reach the address limit.
    excluded = [ignored_auth] if case.operation.label in enforced else []
    try:
        case.validate_response(reply, headers=key, excluded_checks=excluded)
    except FailureGroup as group:
        unlisted = [failure for failure in group.exceptions if not is_by_design(failure, case, reply)]
        if unlisted:
            raise FailureGroup(unlisted, group.message) from None
    if reply.status_code < 300:
        enforced.add(case.operation.label)
