"""The worked example of docs/reference/policies.md gives the documented results."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import decide
from licensing.policies.facts import Facts
from licensing.policies.matching.attributes import load_attributes
from licensing.policies.offers import find_offers
from licensing.policies.rules import parse_rules

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "policies.md").read_text()
JUNE, JULY = datetime(2026, 6, 15, tzinfo=UTC), datetime(2026, 7, 15, tzinfo=UTC)
COMMERCIAL: dict[str, Any] = {"license_types": ("commercial",), "has_valid_license": True}


def example() -> CompiledPolicy:
    block = re.search(r"## An example\n\n```json\n(.*?)```", GUIDE, re.DOTALL)
    assert block
    policy = json.loads(block.group(1))
    return CompiledPolicy.of("pol_guide", 1, policy["defaultAction"], parse_rules(policy["rules"]))


def test_the_examples_are_valid_and_decided_as_told():
    for now, facts, decided in [
        (JULY, {**COMMERCIAL, "permission": "read"}, (True, None, 1)),
        (JUNE, {**COMMERCIAL, "permission": "read", "tags": frozenset({"embargo"})}, (False, "policy_denied", 0)),
        (JULY, {**COMMERCIAL, "permission": "resale"}, (False, "permission_not_granted", 1)),
        (JULY, {"license_types": ("commercial",), "permission": "read"}, (False, "permission_not_granted", 2)),
        (JULY, {}, (True, None, 2)),
    ]:
        decision = decide(example(), Facts(now=now, requester_id="org_any", **facts))
        assert (decision.allowed, decision.reason, decision.rule.index if decision.rule else None) == decided
    for heading in ["Attributes", "Schedules"]:
        conditions = shown(heading)[0]
        [rule] = parse_rules([{"action": "deny", "conditions": conditions}])
        assert [one.name for one in rule.conditions] == list(conditions)
    policy = CompiledPolicy.of("pol_guide", 1, "deny", parse_rules(shown("Schedules")[1]))
    working, weekend = datetime(2026, 6, 1, 8, tzinfo=UTC), datetime(2026, 6, 6, 8, tzinfo=UTC)
    staff, others = (
        load_attributes({"country": "DE", "staff": True}),
        load_attributes({"country": "FR", "staff": True}),
    )
    asked = [
        Facts(now=now, requester_id="org", permission="read", attributes=one)
        for now, one in ((working, staff), (weekend, staff), (working, others), (working, None))
    ]
    assert [decide(policy, facts).allowed for facts in asked] == [True, False, False, False]
    assert [len(list(find_offers(policy, facts))) for facts in asked[1:]] == [1, 1, 1]


def shown(heading: str) -> list[Any]:
    """Return the JSON in a section of the guide."""
    section = re.search(rf"### {heading}\n(.*?)\n##", GUIDE, re.DOTALL)
    assert section
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", section.group(1), re.DOTALL)]
