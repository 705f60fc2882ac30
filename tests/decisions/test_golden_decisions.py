from typing import Any

import pytest

from licensing.decisions import decide, trace
from tests.client import ApiClient
from tests.decisions import golden

CASES = golden.cases()
# A caller can set neither the clock nor, without a licence of the service's own, a lapse.
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
def test_the_service_answers_what_the_decision_says(api: ApiClient, case: dict[str, Any]):
    fields = {"title": "Item", **case.get("item", {})}
    if case["policy"] is not None:
        fields["policyId"] = api.post("/v1/policies", {"name": "Golden", **case["policy"]})["id"]
    item = api.post("/v1/content", fields)["id"]
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
