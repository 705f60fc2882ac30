"""The worked example of docs/reference/policies.md comes out as the guide says."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from licensing.policies.decision import CompiledPolicy, decide
from licensing.policies.facts import Facts
from licensing.policies.rules import parse_rules

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "policies.md").read_text()
JUNE, JULY = datetime(2026, 6, 15, tzinfo=UTC), datetime(2026, 7, 15, tzinfo=UTC)
COMMERCIAL: dict[str, Any] = {"license_types": ("commercial",), "has_valid_license": True}


def example() -> CompiledPolicy:
    block = re.search(r"## An example\n\n```json\n(.*?)```", GUIDE, re.DOTALL)
    assert block
    policy = json.loads(block.group(1))
    return CompiledPolicy.of("pol_guide", 1, policy["defaultAction"], parse_rules(policy["rules"]))


@pytest.mark.parametrize(
    ("now", "facts", "decided"),
    [
        (JULY, {**COMMERCIAL, "permission": "read"}, (True, None, 1)),
        (JUNE, {**COMMERCIAL, "permission": "read", "tags": frozenset({"embargo"})}, (False, "policy_denied", 0)),
        (JULY, {**COMMERCIAL, "permission": "resale"}, (False, "permission_not_granted", 1)),
        (JULY, {"license_types": ("commercial",), "permission": "read"}, (False, "permission_not_granted", 2)),
        (JULY, {}, (True, None, 2)),
    ],
)
def test_the_example_is_decided_as_told(now: datetime, facts: dict[str, Any], decided: tuple[bool, str | None, int]):
    decision = decide(example(), Facts(now=now, requester_id="org_any", **facts))
    assert (decision.allowed, decision.reason, decision.rule.index if decision.rule else None) == decided
