"""Capture the facts that decisions use, and read them back from their records."""

from typing import Any

import pytest

from accounts.models import Account
from analytics.models import AccessEvent
from kit.values.timestamps import parse_timestamp
from licensing.access import deciding
from licensing.access.deciding import Answer
from licensing.access.recorded_decisions import recorded_answers
from licensing.content.models import Content
from licensing.drafts.simulate import COLUMNS, build_past_decision, read_rows
from licensing.policies.facts import FACTS, TESTED_FACTS, Facts, Source
from licensing.policies.models import Policy
from tests import factories

# A rule for each condition whose fact is read only if a rule uses it, and rules with different decisions.
RULES: list[dict[str, Any]] = [
    {"action": "deny", "priority": 1, "conditions": {"ip": "10.0.0.0/8"}},
    {"action": "allow", "priority": 2, "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]},
    {"action": "allow", "priority": 3, "conditions": {"tags": "open"}, "permissions": ["read"]},
    {
        "action": "allow",
        "priority": 4,
        "conditions": {"licenseType": "premium"},
        "permissions": ["read"],
        "pricePerAccess": {"amount": "0.5", "currency": "USD"},
    },
]
BEGIN, END = parse_timestamp("2025-01-01"), parse_timestamp("2025-02-01")
REQUESTERS = ("org_holder", "org_lapsed", "org_other")


class Seen:
    """Collect this process's answers in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: list[Answer] = []
        decide = deciding.decide_check

        def watched(*asked: Any) -> Answer:
            self.answers.append(answer := decide(*asked))
            return answer

        monkeypatch.setattr(deciding, "decide_check", watched)


def recorded_and_replayed(decision_id: str) -> tuple[Facts, Facts]:
    """Return a recorded decision's facts as its page and as a simulation read them."""
    event = AccessEvent.objects.select_related("requester").get(pk=decision_id)
    [recorded] = recorded_answers([event])
    [[row]] = read_rows(AccessEvent.objects.filter(pk=decision_id).values_list(*COLUMNS))
    return recorded.facts, build_past_decision(row).facts


def sayable(facts: Facts) -> dict[str, object]:
    """Return the facts that a policy test can state."""
    attributes = [fact.attribute for fact in FACTS if fact in TESTED_FACTS or fact.source is Source.DECISION]
    licences = {"license_types": facts.license_types, "has_valid_license": facts.has_valid_license}
    return {name: getattr(facts, name) for name in attributes} | licences


def make_items(account: Account) -> tuple[Policy, list[Content]]:
    """Create a policy and items of every kind that link to it, and an item without a policy.

    One requester gets a priced licence, another a lapsed one.
    """
    policy = factories.policy(account, *RULES)
    kinds: list[dict[str, Any]] = [
        {"type": "report", "tags": ["open", "news"], "category": "finance"},
        {"type": "video", "category": "x" * 255},
        {"tags": [f"tag-{number}" for number in range(50)]},
        {},
    ]
    items = [factories.content(account, policy_id=policy.pk, **kind) for kind in kinds]
    archived = factories.content(account, policy_id=policy.pk)
    Content.objects.filter(pk=archived.pk).update(status="archived")
    factories.license(account, "org_holder", per_access="0.25")
    factories.license(account, "org_lapsed", starts_at=BEGIN, expires_at=END)
    return policy, [*items, archived, factories.content(account)]
