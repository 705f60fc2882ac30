"""Lint: an example of each finding, and random policies that no "never" finding may misjudge."""

import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from licensing.policies import lint as linting
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import decide
from licensing.policies.facts import ContentType, Facts, HeldLicense
from licensing.policies.lint import CODE_LEVELS, LEVELS, lint
from licensing.policies.matching.attributes import load_attributes
from licensing.policies.offers import find_offers
from licensing.policies.rules import parse_rules
from tests.examples import examples
from tests.factories import ALLOW_LICENSED, DENY_ALL

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LICENSED = {"hasValidLicense": True}


def allow(permissions=("full_access",), **fields):
    conditions = {name: fields.pop(name) for name in list(fields) if name not in ("priority", "message", "rateLimit")}
    return {"action": "allow", "conditions": conditions or LICENSED, "permissions": list(permissions), **fields}


def deny(**fields):
    return {key: value for key, value in allow(**fields).items() if key != "permissions"} | {"action": "deny"}


def findings(*rules, default="deny", types=None):
    return [(one.code, one.path) for one in lint(parse_rules(list(rules)), default, NOW, types)]


def test_usual_policies_have_no_findings_and_others_one_with_a_sentence():
    assert findings(ALLOW_LICENSED, DENY_ALL) == []
    found = lint(parse_rules([allow(default=True), allow(licenseType="a")]), "allow", NOW)
    assert {one.level for one in found} <= set(LEVELS) == set(CODE_LEVELS.values())
    assert all(one.message.endswith(".") for one in found)
    types = [f"type_{number}" for number in range(20)]
    rules = [allow(licenseType=[*types, f"own_{number}"], **LICENSED) for number in range(100)]
    assert findings(*rules) == []


WORK = {"days": ["mon", "tue", "wed", "thu", "fri"], "from": "09:00", "to": "18:00", "timeZone": "Europe/Berlin"}
NEVER_REACHED = [
    ("after a catch-all", deny(default=True), allow()),
    ("a longer list first", deny(licenseType=["a", "b"], **LICENSED), deny(licenseType="a", **LICENSED)),
    ("fewer conditions first", deny(**LICENSED), deny(licenseType="a", **LICENSED)),
    ("a wider range first", deny(ip=["10.0.0.0/8", "::/0"]), deny(ip=["10.1.0.0/16", "10.2.3.4", "2001:db8::/32"])),
    ("two halves first", deny(ip=["10.0.0.0/9", "10.128.0.0/9"]), deny(ip="10.0.0.0/8")),
    ("a longer time first", deny(before="2027-01-01"), deny(before="2026-06-01")),
    ("an earlier begin first", deny(after="2026-06-01"), deny(after="2027-01-01")),
    ("what has begun always holds", deny(after="2026-01-01"), deny(tags="x")),
    ("every type of content first", deny(contentType=list(ContentType)), deny(tags="x")),
    ("wider bounds first", deny(attributes={"seats": {"gte": 10}}), deny(attributes={"seats": 12, "country": "DE"})),
    ("longer hours first", deny(schedule=WORK), deny(schedule={**WORK, "days": "mon", "to": "12:00"})),
]


def test_a_rule_is_unreachable_if_an_earlier_one_covers_it():
    for first, second in [case[1:] for case in NEVER_REACHED]:
        assert ("unreachable_rule", "rules[1]") in findings(first, second)
    for first, second in [case[1:] for case in REACHED]:
        assert not {code for code, _ in findings(first, second)} & {"unreachable_rule", "duplicate_rule"}
    assert ("unreachable_rule", "rules[0]") in findings(allow(priority=2), deny(default=True, priority=1))
    assert ("unreachable_rule", "rules[0]") in findings(allow(), deny(default=True))  # a deny comes first among equals
    assert findings(allow(**LICENSED), allow(**LICENSED)) == [("duplicate_rule", "rules[1]")]
    assert findings(allow(**LICENSED), allow(**LICENSED, message="x")) == [("unreachable_rule", "rules[1]")]


REACHED = [
    ("another type", deny(licenseType="a", **LICENSED), deny(licenseType=["a", "b"], **LICENSED)),
    ("a condition more", deny(licenseType="a", **LICENSED), deny(**LICENSED)),
    ("another range", deny(ip="10.0.0.0/8"), deny(ip=["10.1.0.0/16", "11.0.0.1"])),
    ("another version", deny(ip="0.0.0.0/0"), deny(ip="::1")),
    ("a later end", deny(before="2026-06-01"), deny(before="2027-01-01")),
    ("a begin to come", deny(after="2026-06-01"), deny(tags="x")),
    ("no licence", allow(hasValidLicense=True), allow(hasValidLicense=False)),
    ("other attributes", deny(attributes={"seats": {"gte": 10}}), deny(attributes={"seats": {"gt": 9}})),
    ("an attribute more", deny(attributes={"a": 1, "b": 1}), deny(attributes={"a": 1})),
    ("other hours", deny(schedule=WORK), deny(schedule={**WORK, "from": "08:00"})),
    ("another zone", deny(schedule=WORK), deny(schedule={**WORK, "timeZone": "Europe/Paris"})),
]


def test_conditions_that_never_hold_are_found():
    never = deny(before="2026-06-01", after="2026-06-01")
    assert ("contradictory_conditions", "rules[0].conditions") in findings(never)
    assert ("ended", "rules[0].conditions.before") in findings(deny(before="2026-03-01"))
    assert ("begun", "rules[0].conditions.after") in findings(deny(after="2026-03-01"))
    assert ("begun", "rules[0].conditions.after") not in findings(deny(after="2026-03-01T00:00:01Z"))
    contradiction = deny(attributes={"seats": {"gt": 5, "lt": 5}})
    assert findings(contradiction, allow()) == [("contradictory_conditions", "rules[0].conditions.attributes")]
    assert findings(deny(attributes={"seats": {"gte": 5, "lte": 5}}), allow()) == []
    weekend = {"after": "2026-03-07", "before": "2026-03-09"}  # a Saturday and a Sunday
    assert findings(deny(schedule={**WORK, "timeZone": "UTC"}, **weekend), allow()) == [
        ("contradictory_conditions", "rules[0].conditions.schedule")
    ]
    assert findings(deny(schedule={**WORK, "days": "sun"}, **weekend), allow()) == []
    # NOW is a Sunday: by Monday noon the hours have come.
    assert findings(deny(schedule=WORK, before="2026-03-02T12:00:00Z"), allow()) == []
    assert findings(deny(schedule=WORK, before="2026-03-02T08:00:00Z"), allow()) == [
        ("contradictory_conditions", "rules[0].conditions.schedule")
    ]


def test_an_allow_rule_without_a_licence_or_permission_is_found():
    assert findings(allow(default=True)) == [("allow_without_license", "rules[0].conditions")]
    sold = {**allow(default=True), "pricePerAccess": {"amount": "0.01", "currency": "USD"}}
    assert findings(sold) == []
    assert findings(allow(hasValidLicense=False)) == [("allow_without_license", "rules[0].conditions")]
    assert findings(allow(requesterId="org_a")) == [("allow_by_name_alone", "rules[0].conditions")]
    assert findings(allow(licenseType="a")) == [("license_may_have_lapsed", "rules[0].conditions")]
    assert findings(allow(attributes={"staff": True})) == [("allow_by_name_alone", "rules[0].conditions")]
    rules = [allow(licenseType=["a", "b"], **LICENSED), deny(licenseType="c")]
    assert findings(*rules, types={"a"}) == [
        ("unknown_license_type", "rules[0].conditions.licenseType[1]"),
        ("unknown_license_type", "rules[1].conditions.licenseType"),
    ]
    assert findings(*rules, types=None) == []
    both = allow(["read"], permission=["read", "print"], **LICENSED)
    assert findings(both) == [("permission_never_granted", "rules[0].permissions")]
    neither = allow([], permission="print", **LICENSED)
    assert findings(neither) == [("permission_never_granted", "rules[0].permissions"), ("never_allows", "rules")]
    assert findings(allow([])) == [("grants_nothing", "rules[0]")]
    assert findings() == findings(DENY_ALL) == [("never_allows", "rules")]
    assert findings(default="allow") == [("default_allows", "defaultAction")]


def priced(**fields):
    return {**allow(**fields), "pricePerAccess": {"amount": "0.015", "currency": "USD"}}


def test_a_price_is_quoted_unless_an_earlier_rule_keeps_it_from_everybody():
    for first in (allow(**LICENSED), allow(licenseType=["a", "b"], **LICENSED)):
        assert not unquoted(first, priced(permission="read"))
        assert not unquoted(first, priced(licenseType="a", **LICENSED))
        assert not unquoted(first, priced(hasValidLicense=False))
    assert not unquoted(deny(hasValidLicense=False), priced(permission="read"))
    for first, second in [
        (deny(licenseType="a"), priced(licenseType=["a", "b"])),
        (deny(hasValidLicense=True), priced(permission="read")),
        (priced(hasValidLicense=False), priced(permission="read")),
        (priced(licenseType=["a", "c"], **LICENSED), priced(licenseType=["a", "b"], **LICENSED)),
    ]:
        assert unquoted(first, second) == [("price_never_quoted", "rules[1].pricePerAccess")]
    assert unquoted(allow(default=True), priced(permission="read")) == [("unreachable_rule", "rules[1]")]
    assert unquoted(deny(default=True), priced(permission="read")) == [("unreachable_rule", "rules[1]")]


def unquoted(*rules):
    return [one for one in findings(*rules) if one[0] in NEVER | NEVER_QUOTED]


MOMENTS = [(NOW + timedelta(days=days)).isoformat() for days in (-2, -1, 0, 1, 2)]
NETWORKS = [
    "10.0.0.0/8", "10.0.0.0/9", "10.128.0.0/9", "10.1.0.0/16", "10.1.2.3", "0.0.0.0/0", "::/0", "2001:db8::/32",
]  # fmt: skip
HOURS = ({}, {"from": "09:00", "to": "18:00"}, {"from": "18:00", "to": "09:00"})


def some(names):
    return st.sampled_from(names) | st.lists(st.sampled_from(names), min_size=1, max_size=4)


CONDITIONS = st.just({"default": True}) | st.fixed_dictionaries(
    {},
    optional={
        "licenseType": some("abc"),
        "hasValidLicense": st.booleans(),
        "requesterId": some("xy"),
        "contentType": some(list(ContentType)) | st.just(list(ContentType)),
        "tags": some("pq"),
        "category": some("mn"),
        "permission": some(["read", "print"]),
        "ip": some(NETWORKS),
        "before": st.sampled_from(MOMENTS),
        "after": st.sampled_from(MOMENTS),
        "attributes": st.dictionaries(
            st.sampled_from("ab"),
            st.sampled_from([1, [1, 2], {"gte": 1}, {"gt": 1, "lt": 1}, {"gte": 1, "lte": 2}, {"exists": False}]),
            min_size=1,
        ),
        "schedule": st.fixed_dictionaries(
            {"timeZone": st.sampled_from(["UTC", "Asia/Tokyo"])}, optional={"days": some(["sun", "mon", "tue"])}
        ).flatmap(lambda one: st.sampled_from([{**one, **hours} for hours in HOURS if hours or "days" in one])),
    },
).filter(bool).map(lambda conditions: dict(list(conditions.items())[:3]))
DENY = st.fixed_dictionaries(
    {"action": st.just("deny"), "conditions": CONDITIONS}, optional={"priority": st.integers(0, 2)}
)
ALLOW = st.fixed_dictionaries(
    {"action": st.just("allow"), "conditions": CONDITIONS},
    optional={
        "priority": st.integers(0, 2),
        "permissions": st.lists(st.sampled_from(["read", "print", "full_access"]), max_size=2),
        "pricePerAccess": st.just({"amount": 1, "currency": "USD"}),
    },
)
FACTS = st.builds(
    Facts,
    now=st.sampled_from([NOW + timedelta(hours=hours) for hours in (0, 1, 24, 47, 48, 60)]),
    requester_id=st.sampled_from("xyz"),
    license_types=st.lists(st.sampled_from("abc"), max_size=2).map(tuple),
    has_valid_license=st.booleans(),
    permission=st.none() | st.sampled_from(["read", "print"]),
    ip=st.none() | st.sampled_from(["10.1.2.3", "10.200.0.1", "11.0.0.1", "2001:db8::1", "::1"]).map(ip_address),
    content_type=st.sampled_from(ContentType),
    tags=st.frozensets(st.sampled_from("pq")),
    category=st.none() | st.sampled_from("mn"),
    attributes=st.none()
    | st.dictionaries(st.sampled_from("ab"), st.sampled_from([0, 1, 1.5, 2, 3])).map(load_attributes),
)
NEVER_QUOTED = {"price_never_quoted"}
NEVER = {"unreachable_rule", "duplicate_rule", "contradictory_conditions", "ended"}


@settings(max_examples=examples(120), deadline=None)
@given(
    st.lists(DENY | ALLOW, min_size=1, max_size=6),
    st.sampled_from(["allow", "deny"]),
    st.lists(FACTS, min_size=4, max_size=8),
)
def test_rules_that_lint_calls_dead_never_decide(rules, default, many):
    parsed = parse_rules(rules)
    found = lint(parsed, default, NOW)
    dead = {f"rules[{rule.index}]" for rule in parsed} & {
        one.path.partition(".")[0] for one in found if one.code in NEVER
    }
    never_allows = any(one.code == "never_allows" for one in found)
    policy = CompiledPolicy.of("pol", 1, default, parsed)
    for facts in many:
        decision = decide(policy, facts)
        assert decision.rule is None or f"rules[{decision.rule.index}]" not in dead
        assert not (never_allows and decision.allowed)


@settings(max_examples=examples(120), deadline=None)
@given(st.lists(DENY | ALLOW, min_size=1, max_size=6), st.lists(FACTS, min_size=4, max_size=8))
def test_a_price_that_lint_says_is_never_quoted_never_is(rules, many):
    parsed = parse_rules(rules)
    found = {one.path.partition(".")[0] for one in lint(parsed, "deny", NOW) if one.code in NEVER | NEVER_QUOTED}
    policy = CompiledPolicy.of("pol", 1, "deny", parsed)
    denied = [facts for facts in map(with_licenses, many) if not decide(policy, facts).allowed]
    assume(denied)
    for facts in denied:
        assert not found & {f"rules[{offer.rule.index}]" for offer in find_offers(policy, facts)}


def largest(number):
    """Return rules of which none covers another, with as many bounds as fit into a policy of 100 rules."""
    bounds = {f"a{place}": {"gte": 1} for place in range(15)}
    return [allow(attributes={**bounds, "last": {"gte": number - place}}) for place in range(number)]


def test_comparing_rules_costs_little_beside_reading_them():
    """Conditions are parsed once for each rule. Once for each pair of rules took 100 times as long."""
    rules = largest(100)
    begin = time.process_time()
    parsed = parse_rules(rules)
    read = time.process_time()
    lint(parsed, "deny", NOW)
    assert time.process_time() - read < 10 * (read - begin)


def test_rules_with_too_many_values_are_not_all_compared_and_lint_says_so(monkeypatch):
    rules = [*largest(5), deny(default=True)]
    assert [code for code, _ in findings(*rules)].count("unreachable_rule") == 5
    monkeypatch.setattr(linting, "MAX_COMPARED_VALUES", 100)
    codes = [code for code, _ in findings(*rules)]
    assert (codes.count("unreachable_rule"), codes.count("not_compared")) == (1, 1)


def with_licenses(facts):
    """Return the facts with stored licences of the types that they name."""
    held = tuple(map(HeldLicense, facts.license_types or ([None] if facts.has_valid_license else [])))
    return replace(facts, licenses=held)
