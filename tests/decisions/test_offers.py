"""The offers of a policy are found in one pass over its rules, and are those of each rule by itself.

So is whether the policy is open to holders of some licence.
"""

from datetime import UTC, datetime
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from licensing.policies.decision import is_open_to_licensees, judge
from licensing.policies.facts import Facts, HeldLicense
from licensing.policies.offers import find_offer_of_rule, find_offers, with_license
from tests.decisions.policies import compiled
from tests.examples import examples

TYPES = ("personal", "commercial", "ai")
PRICES = st.sampled_from([None, {"amount": "0.01", "currency": "USD"}, {"amount": "2", "currency": "EUR"}])
CONDITIONS = st.fixed_dictionaries(
    {},
    optional={
        "licenseType": st.lists(st.sampled_from(TYPES), min_size=1, unique=True),
        "hasValidLicense": st.booleans(),
        "category": st.sampled_from(["finance", "art"]),
    },
).map(lambda conditions: conditions or {"default": True})


@st.composite
def priced_rules(draw: Any) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "action": draw(st.sampled_from(["allow", "allow", "deny"])),
        "conditions": draw(CONDITIONS),
    }
    if rule["action"] == "allow":
        rule["permissions"] = draw(st.sampled_from([["read"], ["read", "print"], ["ai_input"], ["ai_index"], []]))
        price = draw(PRICES)
        if price is not None:
            rule["pricePerAccess"] = price
    return rule


def offer(license_types: list[str], amount: str) -> dict[str, Any]:
    return {
        "action": "allow",
        "conditions": {"licenseType": license_types},
        "permissions": ["read"],
        "pricePerAccess": {"amount": amount, "currency": "USD"},
    }


SAME_TYPES = [offer(["ai"], "1"), offer(["ai"], "2"), offer(["ai", "personal"], "3"), offer(["personal"], "4")]


@example(
    rules=[{**offer(["ai"], "1"), "permissions": ["ai_input"]}],
    permission="ai_index",
    license_type=None,
    archived=False,
    default_action="deny",
)
@example(rules=SAME_TYPES, permission=None, license_type=None, archived=False, default_action="deny")
@settings(max_examples=examples(400), deadline=None, derandomize=True)
@given(
    rules=st.lists(priced_rules(), max_size=6),
    permission=st.sampled_from([None, "read", "print", "ai_index"]),
    license_type=st.sampled_from([None, *TYPES]),
    archived=st.sampled_from([False] * 9 + [True]),
    default_action=st.sampled_from(["deny", "allow"]),
)
def test_one_pass_finds_what_each_rule_and_licence_type_give(
    rules: list[dict[str, Any]], permission: str | None, license_type: str | None, archived: bool, default_action: str
):
    policy = compiled(rules, default_action)
    facts = Facts(
        datetime(2026, 1, 1, tzinfo=UTC),
        "org_acme",
        permission,
        license_types=() if license_type is None else (license_type,),
        has_valid_license=license_type is not None,
        category="finance",
        archived=archived,
    )
    each = [find_offer_of_rule(rule, policy, facts) for rule in policy.rules]
    assert list(find_offers(policy, facts)) == [offer for offer in each if offer is not None]
    assert list(find_offers(None, facts)) == []
    types = [HeldLicense(name) for name in (None, *TYPES)]
    opened = [held for held in types if judge(policy, with_license(facts, held)).allowed]
    if not archived:
        assert is_open_to_licensees(policy, facts) is bool(opened)
