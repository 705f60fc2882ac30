from typing import Any, NamedTuple

import pytest

from accounts.models import Account
from kit.values.timestamps import parse_timestamp
from licensing.licenses.services import revoke_license
from licensing.policies.decision import decide
from licensing.policies.matching.tracing import trace
from tests import factories
from tests.client import ApiClient
from tests.decisions import golden
from tests.standing import Unblock, as_new

# Callers cannot set the clock or, without stored licences, a lapsed licence.
NOT_IN_A_CHECK = {"now", "lapsedLicense"}
CASES = golden.cases()


class Stored(NamedTuple):
    """An account and its key, and the ids of each case's item and policy by the case's name."""

    account_id: str
    key: str
    items: dict[str, str]
    policies: dict[str, str]


@pytest.fixture(scope="module")
def stored(for_the_module: Unblock) -> Stored:
    with for_the_module():
        account = factories.account()
        key = factories.key_text(account)
        cases = {case["name"]: case for (case,) in (param.values for param in CASES)}
        policies = {name: {"name": name, **case["policy"]} for name, case in cases.items() if case["policy"]}
        policy_ids = create(key, "policies", "policy", policies)
        items = {
            name: {"title": "Item", "policyId": policy_ids.get(name), **case.get("item", {})}
            for name, case in cases.items()
        }
        return Stored(account.pk, key, create(key, "content", "content", items), policy_ids)


def create(key: str, kind: str, name: str, bodies: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Create one resource of each body. Return their ids."""
    rows = ApiClient(key).post(f"/v1/{kind}/bulk", {"items": list(bodies.values())})["data"]
    return {case: row[name]["id"] for case, row in zip(bodies, rows, strict=True)}


@pytest.fixture
def account(stored: Stored, db: None) -> Account:
    return as_new(stored.account_id)


@pytest.fixture
def api(stored: Stored, account: Account) -> ApiClient:
    return ApiClient(stored.key)


@pytest.mark.parametrize("case", CASES)
def test_decision_trace_and_service_give_the_expected_answer(
    api: ApiClient, account: Account, stored: Stored, case: dict[str, Any]
):
    assert_decided(case)
    assert_decisive_rule(case)
    if not NOT_IN_A_CHECK & set(case):
        assert_answered(api, account, stored, case)


def assert_decided(case: dict[str, Any]) -> None:
    """Assert that the decision is the expected one, and its trace and licence where the case names them."""
    policy, facts, expected = golden.policy(case), golden.facts(case), case["expected"]
    decision = decide(policy, facts)
    seen = {
        "allowed": decision.allowed,
        "reason": decision.reason,
        "rule": decision.rule.index if decision.rule else None,
        "permissions": list(decision.permissions),
    }
    if "license" in expected:
        held = decision.license
        seen["license"] = {"licenseType": held.license_type, "source": held.source} if held else None
    if "trace" in expected:
        seen["trace"] = trace(policy, facts)
    assert seen == expected


def assert_decisive_rule(case: dict[str, Any]) -> None:
    """Assert that the trace calls the rule decisive that decided, and no other."""
    rule = case["expected"]["rule"]
    steps = trace(golden.policy(case), golden.facts(case))
    assert [step["index"] for step in steps if step["decisive"]] == ([] if rule is None else [rule])


def assert_answered(api: ApiClient, account: Account, stored: Stored, case: dict[str, Any]) -> None:
    """Assert that a check gets the expected answer from the service."""
    item = stored.items[case["name"]]
    for license_ in case.get("licenses", ()):
        issue(account, license_, case, item, stored.policies.get(case["name"]))
    if status := case.get("item", {}).get("status"):  # the service sets it at creation
        api.patch(f"/v1/content/{item}", {"status": status})

    reply = api.post("/v1/access/check", {"contentId": item, "explain": True, **case["check"]})

    assert reply.status == 200, reply
    expected = dict(case["expected"])
    rule, license_ = expected.pop("rule"), expected.pop("license", "not compared")
    assert {name: reply[name] for name in expected} == expected
    assert (reply["matchedRule"] or {"index": None})["index"] == rule
    if license_ != "not compared":
        shown = reply["license"]
        assert (shown and {name: shown[name] for name in ("licenseType", "source")}) == license_


def issue(account: Account, one: dict[str, Any], case: dict[str, Any], item: str, policy: str | None) -> None:
    requester = case["check"]["requester"]
    known = {"{item}": item, "{policy}": policy}
    issued = factories.license(
        account,
        requester if isinstance(requester, str) else requester["id"],
        license_type=one["licenseType"],
        starts_at=parse_timestamp(one.get("startsAt", golden.START)),
        expires_at=parse_timestamp(one["expiresAt"]) if "expiresAt" in one else None,
        content_ids=[known.get(name) or factories.content(account).pk for name in one.get("contentIds", ())],
        tags=one.get("tags", []),
        policy_ids=[known.get(name) or factories.policy(account).pk for name in one.get("policyIds", ())],
    )
    if one.get("revoked"):
        revoke_license(issued)
