import asyncio
from datetime import UTC, datetime
from itertools import combinations

import pytest

from accounts.keys import services as accounts
from accounts.keys.authentication import find_grant
from accounts.keys.callers import Caller, Steps, admit
from accounts.models import ApiKey
from kit.http.errors import ApiError, IpNotAllowed, MissingApiKey
from kit.storage.light_tasks import run_blocking
from licensing.access.event_loop.application import MAX_BYTES_AHEAD, Request
from licensing.access.event_loop.head import Head
from tests import factories

# Refusals in the order of the steps: status, code and param.
REFUSALS = {
    "method": (405, "method_not_allowed", None),
    "key": (401, "invalid_api_key", None),
    "address": (403, "ip_not_allowed", None),
    "limit": (429, "rate_limit_exceeded", None),
    "permission": (403, "insufficient_permissions", None),
    "query": (400, "invalid_request", "unknown"),
    "body": (400, "invalid_request", None),
}
STEPS = [name for name in REFUSALS if name != "method"]  # a request for checks is recognised by its method
TABLE = [*[(one,) for one in REFUSALS], *combinations(REFUSALS, 2), tuple(REFUSALS)]


@pytest.fixture
def sender(db, connect, clock):
    """Return a function that sends a check with all of the given faults."""

    def send(path, wrong):
        owner = factories.account(plan="enterprise", requests_per_minute=1, requests_per_day=10)
        fields = {
            **({"allowed_ips": ["203.0.113.9"]} if "address" in wrong else {}),
            **({"permissions": ["content:read"]} if "permission" in wrong else {}),
        }
        key, text = factories.api_key(owner, **fields)
        if "limit" in wrong:
            assert connect(factories.key_text(owner)).post("/v1/access/check", {}).status == 422
        if "key" in wrong:
            accounts.revoke_api_key(key)
        method = "DELETE" if "method" in wrong else "POST"
        query = "?unknown=1" if "query" in wrong else ""
        return connect(text).request(method, path + query, b"{" if "body" in wrong else {})

    return send


@pytest.mark.parametrize("path", ["/v1/access/check", "/v1/content"])
@pytest.mark.parametrize("wrong", TABLE, ids=" and ".join)
def test_the_error_is_that_of_the_first_refusing_step(sender, path, wrong):
    reply = sender(path, wrong)
    error = reply.error
    assert (reply.status, error["code"], error.get("param")) == REFUSALS[wrong[0]]


class Noted(Steps):
    """Store the steps taken; the one called `refusing` raises."""

    def __init__(self, refusing: str) -> None:
        self.taken: list[str] = []
        self.refusing = refusing

    def note(self, name: str) -> None:
        self.taken.append(name)
        if name == self.refusing:
            raise STRANGERS.get(name, ApiError)("refused")

    async def authenticate(self) -> None:
        self.note("key")

    def check_address(self) -> None:
        self.note("address")

    async def count(self) -> None:
        self.note("limit")

    async def count_stranger(self, refusal: ApiError) -> None:
        self.note("limit of the address")

    def authorize(self) -> None:
        self.note("permission")

    def check_query(self) -> None:
        self.note("query")

    async def read_body(self) -> None:
        self.note("body")


DRIVERS = {"blocking": run_blocking, "event loop": asyncio.run}
STRANGERS = {"key": MissingApiKey, "address": IpNotAllowed}


@pytest.mark.parametrize("drive", DRIVERS.values(), ids=DRIVERS)
@pytest.mark.parametrize("refusing", ["", *STEPS])
def test_either_driver_takes_the_steps_up_to_the_one_that_refuses(drive, refusing):
    steps = Noted(refusing)
    if refusing:
        with pytest.raises(ApiError):
            drive(admit(steps))
    else:
        drive(admit(steps))
    taken = STEPS[: STEPS.index(refusing) + 1] if refusing else STEPS
    assert steps.taken == taken + ["limit of the address"] * (refusing in STRANGERS)


def test_a_step_that_waits_cannot_be_driven_in_a_thread():
    with pytest.raises(AssertionError, match="waited"):
        run_blocking(asyncio.sleep(0))


@pytest.mark.parametrize("wrong", [*combinations(["key", "address", "permission"], 2), ("address",), ("permission",)])
def test_a_caller_is_admitted_again_in_the_same_order(account, wrong):
    key, text = factories.api_key(account)
    caller = Caller(find_grant(text), None, "access:check")
    changes = {
        "key": {"revoked_at": datetime(2026, 1, 1, tzinfo=UTC)},
        "address": {"allowed_ips": ["203.0.113.9"]},
        "permission": {"permissions": ["content:read"]},
    }
    for one in wrong:
        ApiKey.objects.filter(pk=key.pk).update(**changes[one])
    now = datetime(2026, 1, 2, tzinfo=UTC)
    caller.check_at(caller.grant.epoch, now)
    with pytest.raises(ApiError) as raised:
        caller.check_at(caller.grant.epoch + 1, now)
    assert (raised.value.status_code, raised.value.code) == REFUSALS[wrong[0]][:2]


@pytest.fixture
def prepared(application):
    """Return a function that prepares a single-check request with a body of that many bytes."""

    def request(length):
        start = b'{"contentId": "cnt_1", "requester": "org_acme"'
        scope = {
            "path": "/v1/access/check",
            "query_string": b"",
            "headers": [(b"authorization", b"Bearer key")],
            "extensions": {"body": start + b" " * (length - len(start) - 1) + b"}"},
        }
        made = Request(Head(scope, application.proxies), None, application.gateway.callers)
        made.prepare()
        return made

    return request


@pytest.mark.parametrize(("length", "is_parsed"), [(MAX_BYTES_AHEAD, True), (MAX_BYTES_AHEAD + 1, False)])
def test_only_a_small_body_is_parsed_before_its_request_is_known_to_be_within_its_limits(prepared, length, is_parsed):
    assert (prepared(length).checks is not None) is is_parsed
