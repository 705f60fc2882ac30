from typing import Any

import pytest

from accounts.models import Account
from kit.values.timestamps import parse_timestamp
from licensing.licenses.services import revoke_license
from licensing.policies.decision import decide, trace
from tests import factories
from tests.client import ApiClient
from tests.decisions import golden

CASES = golden.cases()
# Callers cannot set the clock or, without stored licences, a lapsed licence.
CALLABLE = [case for case in CASES if not {"now", "lapsedLicense"} & set(case.values[0])]


@pytest.mark.parametrize("case", CASES)
def test_the_decision_is_the_one_expected(case: dict[str, Any]):
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


@pytest.mark.parametrize("case", CASES)
def test_the_trace_calls_that_rule_decisive_which_decided(case: dict[str, Any]):
    steps = trace(golden.policy(case), golden.facts(case))
    assert [step["index"] for step in steps if step["decisive"]] == [
        index for index in [case["expected"]["rule"]] if index is not None
    ]


@pytest.mark.parametrize("case", CALLABLE)
def test_the_service_answers_what_the_decision_says(api: ApiClient, account: Account, case: dict[str, Any]):
    fields = {"title": "Item", **case.get("item", {})}
    if case["policy"] is not None:
        fields["policyId"] = api.post("/v1/policies", {"name": "Golden", **case["policy"]})["id"]
    item = api.post("/v1/content", fields)["id"]
    for one in case.get("licenses", ()):
        issue(account, one, case, item, fields.get("policyId"))
    if "status" in fields:  # the service sets it at creation
        api.patch(f"/v1/content/{item}", {"status": fields["status"]})

    reply = api.post("/v1/access/check", {"contentId": item, "explain": True, **case["check"]})

    assert reply.status == 200, reply
    expected = dict(case["expected"])
    rule, license_ = expected.pop("rule"), expected.pop("license", "not looked at")
    assert {name: reply[name] for name in expected} == expected
    assert (reply["matchedRule"] or {"index": None})["index"] == rule
    if license_ != "not looked at":
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
