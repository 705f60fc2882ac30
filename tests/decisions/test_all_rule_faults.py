"""All errors in a policy's rules are reported at once, each once."""

import re
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.values.faults import MAX_FAULTS, Fault
from licensing.policies.rules import parse_new_rules
from tests.examples import examples

RIGHT: dict[str, Any] = {
    "action": "allow",
    "priority": 1,
    "conditions": {
        "licenseType": ["a", "b"],
        "hasValidLicense": True,
        "contentType": ["article"],
        "permission": ["read", "write"],
        "ip": ["203.0.113.0/24", "2001:db8::7"],
        "before": "2027-01-01",
        "after": "2026-01-01",
    },
    "permissions": ["read", "full_access"],
    "rateLimit": {"requests": 5, "period": "hour"},
    "pricePerAccess": {"amount": "0.05", "currency": "EUR"},
    "message": "No.",
}
# Wrong values by their path in a rule, each with the reported path.
WRONG: dict[str, list[tuple[object, list[str]]]] = {
    "action": [("permit", [""]), (["allow"], [""])],
    "priority": [(-1, [""]), ("1", [""]), (None, [""])],
    "conditions.licenseType": [("", [""]), ([], [""]), (["a", "", 7], ["[1]", "[2]"])],
    "conditions.hasValidLicense": [("true", [""])],
    "conditions.contentType": [(["song", "article", "poem"], ["[0]", "[2]"])],
    "conditions.permission": [("Read", [""]), ([None], ["[0]"])],
    "conditions.ip": [("203.0.113.1/24", [""]), (["nowhere", "10.0.0.0/8"], ["[0]"])],
    "conditions.before": [("soon", [""])],
    "conditions.after": [(5, [""])],
    "conditions.country": [("DE", [""])],
    "conditions.default": [(True, [""])],
    "permissions": [("read", [""]), (["read", "?", 1], ["[1]", "[2]"]), (["read"] * 51, [""])],
    "rateLimit": [({}, [".requests", ".period"]), (5, [""]), ({"requests": 1, "period": "hour", "per": 2}, [".per"])],
    "rateLimit.requests": [(0, [""])],
    "rateLimit.period": [("year", [""])],
    "pricePerAccess": [(None, [""]), ({"currency": "EUR"}, [".amount"])],
    "pricePerAccess.amount": [("-1", [""]), (0, [""])],
    "pricePerAccess.currency": [("XXX", [""]), (5, [""])],
    "message": [("x" * 501, [""])],
    "effect": [("allow", [""])],
}


def told(rules: object) -> list[str]:
    try:
        parse_new_rules(rules)
    except Fault as fault:
        return [one.path for one in fault.all()]
    return []


@st.composite
def planted(draw: st.DrawFn) -> tuple[list[Any], list[str]]:
    """Draw rules with errors, and the paths of these errors."""
    rules, faults = [], []
    for index in range(draw(st.integers(1, 4))):
        rule = deepcopy(RIGHT)
        places = draw(st.lists(st.sampled_from(sorted(WRONG)), unique=True, max_size=6))
        for place in places:
            if any(place.startswith(f"{other}.") for other in places):
                continue  # its parent is replaced as a whole
            value, where = draw(st.sampled_from(WRONG[place]))
            *outer, name = place.split(".")
            (rule[outer[0]] if outer else rule)[name] = deepcopy(value)
            faults += [f"[{index}].{place}{end}" for end in where]
        rules.append(rule)
    return rules, faults


def mend(rules: list[Any], path: str) -> None:
    """Replace the reported values by valid ones."""
    index, *names = re.split(r"\.", path)
    rule, right = rules[int(index.strip("[]"))], deepcopy(RIGHT)
    *outer, name = [name.partition("[")[0] for name in names]
    if outer:
        rule, right = rule[outer[0]], right[outer[0]]
    if name in right:
        rule[name] = right[name]
    else:
        rule.pop(name, None)


@settings(max_examples=examples(150), deadline=None)
@given(planted())
def test_each_fault_is_reported_once(case: tuple[list[Any], list[str]]):
    rules, faults = case
    assert sorted(told(rules)) == sorted(faults)
    for path in told(rules):
        mend(rules, path)
    assert told(rules) == []


def test_a_deny_rule_reports_each_field_of_allow_rules_once():
    rule = {"action": "deny", "conditions": {"default": True}, "permissions": 5, "rateLimit": {}, "pricePerAccess": 1}
    assert told([rule]) == ["[0].permissions", "[0].rateLimit", "[0].pricePerAccess"]
    assert told([{}] * 101) == told(["x" * 70_000]) == [""]
    # Validating all values would take half a second.
    rule = {"action": "allow", "conditions": {name: [1] * 500 for name in ("licenseType", "tags", "category")}}
    assert len(told([rule] * 15)) == MAX_FAULTS
    assert told([rule] * 15)[-1] == f"[0].conditions.licenseType[{MAX_FAULTS - 1}]"


@pytest.mark.parametrize(("conditions", "message"), [
    ({}, 'Must name a condition. Write {"default": true} for a rule that matches always.'),
    ({"default": 1}, "Must be true."), ({"default": True, "tags": "a"}, "Must stand alone."),
    ({"tags": 1}, "Must be a string or an array of strings."),
    ({"tags": {}}, "Must be a string or an array of strings."),
    ({"ip": "203.0.113.1/24"}, "Must be an IP address or a range without host bits, as 203.0.113.0/24."),
    ({"before": 1}, "Must be a timestamp."),
], ids=str)  # fmt: skip
def test_the_error_of_an_invalid_condition_describes_the_valid_form(
    conditions: dict[str, object], message: str
) -> None:
    with pytest.raises(Fault) as caught:
        parse_new_rules([{"action": "deny", "conditions": conditions}])
    assert caught.value.message == message
