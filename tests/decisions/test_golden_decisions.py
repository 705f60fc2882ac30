from typing import Any

import pytest

from accounts.models import Account
from kit.values.timestamps import parse_timestamp
from licensing.licenses.services import revoke_license
from licensing.policies.decision import decide
from licensing.policies.matching.tracing import trace
from tests import factories
from tests.client import ApiClient
from tests.decisions import golden

# Callers cannot set the clock or, without stored licences, a lapsed licence.
NOT_IN_A_CHECK = {"now", "lapsedLicense"}


@pytest.mark.parametrize("case", golden.cases())
def test_decision_trace_and_service_give_the_expected_answer(api: ApiClient, account: Account, case: dict[str, Any]):
    assert_decided(case)
    assert_decisive_rule(case)
    if not NOT_IN_A_CHECK & set(case):
        assert_answered(api, account, case)


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


def assert_answered(api: ApiClient, account: Account, case: dict[str, Any]) -> None:
    """Assert that a check gets the expected answer from the service."""
    fields = {"title": "Item", **case.get("item", {})}
    if case["policy"] is not None:
        fields["policyId"] = api.post("/v1/policies", {"name": "Golden", **case["policy"]})["id"]
    item = api.post("/v1/content", fields)["id"]
    for license_ in case.get("licenses", ()):
        issue(account, license_, case, item, fields.get("policyId"))
    if "status" in fields:  # the service sets it at creation
        api.patch(f"/v1/content/{item}", {"status": fields["status"]})

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
