"""Decisions on random policies and facts equal those of a second implementation."""

from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from licensing.policies.decision import decide
from licensing.policies.facts import Facts
from licensing.policies.matching.attributes import load_attributes
from licensing.policies.matching.tracing import trace
from tests.decisions import naive
from tests.decisions.policies import compiled
from tests.examples import examples

# Few values, so that rules and facts often match.
LICENSES, REQUESTERS, TAGS = (("trial", "commercial", "enterprise"), ("org_a", "org_b"), ("open", "paid", "news"))
CATEGORIES, PERMISSIONS, TYPES = ("finance", "art"), ("read", "print", "full_access"), ("article", "image")
ADDRESSES = ("203.0.113.9", "198.51.100.1", "2001:db8::7")
RANGES = ("203.0.113.0/24", "0.0.0.0/0", "198.51.100.1", "2001:db8::/32")
MOMENTS = ("2026-06-01T00:00:00+00:00", "2026-06-01T12:00:00+00:00", "2026-07-01T00:00:00+00:00")
ATTRIBUTES = ({"country": "DE", "seats": 25}, {"seats": 10.0, "trial": False}, {"trial": True, "seats": "10"})
ATTRIBUTE_CONDITIONS = (
    {"country": ["DE", "AT"]}, {"seats": {"gte": 10}}, {"seats": {"gt": 10, "lte": 25}}, {"seats": [10, True]},
    {"trial": False}, {"trial": 0}, {"country": {"exists": False}, "trial": {"exists": True}},
)  # fmt: skip
SCHEDULES: tuple[dict[str, Any], ...] = (
    {"days": ["mon", "tue"], "from": "02:00", "to": "14:00", "timeZone": "Europe/Berlin"},
    {"from": "14:00", "to": "02:00", "timeZone": "Europe/Berlin"},
    {"days": ["sun"], "from": "20:00", "to": "03:00", "timeZone": "Europe/Berlin"},
    {"days": "wed", "timeZone": "UTC"},
)


def some(values: tuple[str, ...]) -> st.SearchStrategy[Any]:
    return st.sampled_from(values) | st.lists(st.sampled_from(values), min_size=1, max_size=3)


CONDITIONS = st.just({"default": True}) | st.fixed_dictionaries(
    {},
    optional={
        "licenseType": some(LICENSES),
        "hasValidLicense": st.booleans(),
        "requesterId": some(REQUESTERS),
        "contentType": some(TYPES),
        "tags": some(TAGS),
        "category": some(CATEGORIES),
        "permission": some(PERMISSIONS),
        "ip": some(RANGES),
        "before": st.sampled_from(MOMENTS),
        "after": st.sampled_from(MOMENTS),
        "attributes": st.sampled_from(ATTRIBUTE_CONDITIONS),
        "schedule": st.sampled_from(SCHEDULES),
    },
).filter(bool)


@st.composite
def rule_lists(draw: Any) -> list[dict[str, Any]]:
    rules = []
    for _ in range(draw(st.integers(0, 6))):
        rule: dict[str, Any] = {"action": draw(st.sampled_from(["allow", "deny"])), "conditions": draw(CONDITIONS)}
        priority = draw(st.none() | st.sampled_from([0, 1, 2, 10]))
        if priority is not None:
            rule["priority"] = priority
        if rule["action"] == "allow":
            rule["permissions"] = draw(st.lists(st.sampled_from(PERMISSIONS), unique=True))
        rules.append(rule)
    return rules


KNOWN = st.fixed_dictionaries(
    {
        "now": st.sampled_from(MOMENTS).map(datetime.fromisoformat),
        "archived": st.sampled_from([False] * 9 + [True]),
        "lapsed": st.booleans(),
        "hasValidLicense": st.booleans(),
        "licenseType": st.none() | st.sampled_from(LICENSES),
        "requesterId": st.sampled_from(REQUESTERS),
        "contentType": st.sampled_from(TYPES),
        "tags": st.lists(st.sampled_from(TAGS), unique=True),
        "category": st.none() | st.sampled_from(CATEGORIES),
        "permission": st.none() | st.sampled_from(PERMISSIONS),
        "ip": st.none() | st.sampled_from(ADDRESSES),
        "attributes": st.none() | st.sampled_from(ATTRIBUTES),
    }
)


def facts_of(known: dict[str, Any]) -> Facts:
    return Facts(
        now=known["now"],
        requester_id=known["requesterId"],
        license_types=(known["licenseType"],) if known["licenseType"] else (),
        has_valid_license=known["hasValidLicense"],
        has_lapsed_license=known["lapsed"],
        permission=known["permission"],
        ip=ip_address(known["ip"]) if known["ip"] else None,
        content_type=known["contentType"],
        tags=frozenset(known["tags"]),
        category=known["category"],
        attributes=None if known["attributes"] is None else load_attributes(known["attributes"]),
        archived=known["archived"],
    )


@settings(max_examples=examples(400), deadline=None, derandomize=True)
@given(rules=rule_lists(), default_action=st.sampled_from(["allow", "deny"]), known=KNOWN)
def test_the_decision_agrees_with_the_plain_reading_of_the_rules(
    rules: list[dict[str, Any]], default_action: str, known: dict[str, Any]
):
    decision = decide(compiled(rules, default_action), facts_of(known))
    index = decision.rule.index if decision.rule else None
    event(f"{decision.reason or 'allowed'}, by {'a rule' if decision.rule else 'default'}")
    seen = (decision.allowed, decision.reason, index, list(decision.permissions))
    assert seen == naive.expected(rules, default_action, known)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(rules=rule_lists(), known=KNOWN)
def test_the_trace_names_for_each_rule_a_condition_that_fails_or_none_that_does(
    rules: list[dict[str, Any]], known: dict[str, Any]
):
    steps = trace(compiled(rules, "deny"), facts_of(known))
    assert [step["index"] for step in steps] == ([] if known["archived"] else naive.order_of_trial(rules))
    for step in steps:
        conditions = rules[step["index"]]["conditions"]
        failing = [name for name, wanted in conditions.items() if not naive.holds(name, wanted, known)]
        assert step["matched"] == (not failing)
        withheld = (
            ["permissions"] if step["decisive"] and step["failed"] else []
        )  # it holds, and grants something else
        assert (step["failed"] or {"condition": None})["condition"] == (*failing, *withheld, None)[0]


def test_no_policy_is_a_denial_of_its_own():
    facts = Facts(now=datetime(2026, 6, 1, tzinfo=UTC), requester_id="org_a", has_valid_license=True)
    assert decide(None, facts).reason == "no_policy"


def test_the_trace_names_the_first_condition_that_fails_also_of_a_rule_that_was_parsed_in_another_order():
    conditions = {"hasValidLicense": True, "requesterId": "org_b"}
    facts = Facts(now=datetime(2026, 6, 1, tzinfo=UTC), requester_id="org_a", has_valid_license=False)
    for names in (list(conditions), list(reversed(conditions))):
        ordered = {name: conditions[name] for name in names}
        rules = [{"action": "allow", "conditions": ordered, "permissions": ["read"]}]
        [step] = trace(compiled(rules, "deny"), facts)
        assert step["failed"]["condition"] == names[0]
