"""The tests of a policy: examples of who asks for what, each with what has to come of it. Pure: no ORM, no clock.

Each version has to pass its own before it is written (licensing.policies.services). They are no part of the compiled
policy, so a check never loads them.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NotRequired, TypedDict, cast

from msgspec import Struct

from kit.values.json_values import JsonObject
from kit.values.timestamps import parse_timestamp, render_timestamp
from licensing.policies.decision import CompiledPolicy, Decision, decide, judge
from licensing.policies.facts import (
    DEFAULTS,
    OF_CHECK,
    OF_ITEM,
    TESTED,
    Fact,
    Facts,
    HeldLicense,
    Recorded,
    load_facts,
)
from licensing.policies.rules import Rule
from licensing.policies.standing import Standing, Term, build_facts, standing_at, vouched_by

MAX_TESTS = 100
MAX_TESTS_BYTES = 64 * 1024  # of compact JSON, as of the rules
MAX_LICENSES = 50
BEGINNING = datetime.min.replace(tzinfo=UTC)  # when a licence began that does not say


class LicenseOfTest(TypedDict):
    licenseType: str
    startsAt: NotRequired[str | None]
    expiresAt: NotRequired[str | None]


class RequesterOfTest(TypedDict):
    """`licenses` are held by the service, and count instead of what the caller vouches for, as in a check.

    Facts of the requester are further members (licensing.policies.facts.TESTED).
    """

    id: str
    licenseType: NotRequired[str | None]
    hasValidLicense: NotRequired[bool | None]
    licenses: NotRequired[list[LicenseOfTest] | None]


class Expected(TypedDict):
    """`matchedRule` is the index of the rule that decides, null for the default action; absent it may be any."""

    allowed: bool
    reason: NotRequired[str | None]
    matchedRule: NotRequired[int | None]


class PolicyTest(TypedDict):
    """A valid test as JSON of the API."""

    name: NotRequired[str | None]
    requester: RequesterOfTest
    content: NotRequired[JsonObject | None]
    permission: NotRequired[str | None]
    context: NotRequired[JsonObject | None]
    at: NotRequired[str | None]
    expect: Expected


class Result(Struct, frozen=True):
    """What came of a test; `expected` and `decided` in words, as "denied (no_license) by rule 1"."""

    index: int
    name: str | None
    passed: bool
    expected: str
    decided: str

    @property
    def title(self) -> str:
        return f"“{self.name}”" if self.name else f"Test {self.index}"

    @property
    def sentence(self) -> str:
        if self.passed:
            return f"{self.title}: {self.decided}, as expected."
        return f"{self.title}: expected to be {self.expected}, but it is {self.decided}."


def run_tests(rules: Sequence[Rule], default_action: str, tests: Sequence[PolicyTest], now: datetime) -> list[Result]:
    """Run the tests as if the policy were enforced, with unused rate limits, and return their results.

    `now` is the time of tests without `at`.
    """
    policy = CompiledPolicy.of(None, None, default_action, tuple(rules))
    return [result_of(policy, index, test, now) for index, test in enumerate(tests)]


def result_of(policy: CompiledPolicy, index: int, test: PolicyTest, now: datetime) -> Result:
    decision = decide(policy, facts_of_test(test, now))
    expect = test["expect"]
    passed = (
        decision.allowed is expect["allowed"]
        and expect.get("reason") in (None, decision.reason)
        and ("matchedRule" not in expect or expect["matchedRule"] == index_of(decision))
    )
    return Result(index, test.get("name"), passed, told_expectation(expect), told_decision(decision))


def index_of(decision: Decision) -> int | None:
    return decision.rule.index if decision.rule is not None else None


def told_expectation(expect: Expected) -> str:
    outcome = told_outcome(expect["allowed"], expect.get("reason"))
    return f"{outcome} by {told_rule(expect['matchedRule'])}" if "matchedRule" in expect else outcome


def told_decision(decision: Decision) -> str:
    return f"{told_outcome(decision.allowed, decision.reason)} by {told_rule(index_of(decision))}"


def told_outcome(allowed: bool, reason: str | None) -> str:
    """As "denied (no_license)"; what is allowed because it is only observed has a reason too."""
    if not reason:
        return "allowed" if allowed else "denied"
    return f"allowed, observed ({reason})" if allowed else f"denied ({reason})"


def told_rule(index: int | None) -> str:
    return "the default action" if index is None else f"rule {index}"


def facts_of_test(test: PolicyTest, now: datetime) -> Facts:
    """The facts that a check of this kind would have."""
    at = test.get("at")
    moment = parse_timestamp(at) if at else now
    requester = test["requester"]
    standing = standing_of_test(requester, moment)
    said = {fact.name: value for fact, value in said_facts(test)}
    known = load_facts(OF_ITEM, said), load_facts(OF_CHECK, said)
    return build_facts(standing, moment, requester["id"], test.get("permission"), *known)


def said_facts(test: PolicyTest) -> Iterator[tuple[Fact, object]]:
    """The facts of the table that the test says, with their JSON."""
    parts = cast("dict[str, Recorded | None]", test)
    for fact in TESTED:
        value = (parts.get(fact.part) or {}).get(fact.key)
        if value not in (None, [], {}):
            yield fact, value


def standing_of_test(requester: RequesterOfTest, now: datetime) -> Standing:
    """By the licences held if any of them has begun, otherwise by the caller's word: as in a check."""
    terms = sorted(map(term_of, requester.get("licenses") or ()), key=lambda term: term.starts_at)
    return standing_at(terms, now) or vouched_by(requester)


def term_of(held: LicenseOfTest) -> Term:
    start, end = held.get("startsAt"), held.get("expiresAt")
    license_held = HeldLicense(held["licenseType"], "service", expires_at=parse_timestamp(end) if end else None)
    return Term(license_held, parse_timestamp(start) if start else BEGINNING)


def example_of(policy: CompiledPolicy, facts: Facts, name: str) -> PolicyTest:
    """These facts as a test that expects what the policy, enforced, decides on them now.

    It says when only if the policy looks at the time.
    """
    test: PolicyTest = {"name": name, "requester": requester_of(facts), "expect": {"allowed": False}}
    parts = cast("dict[str, Recorded]", test)
    for fact in TESTED:
        value = getattr(facts, fact.attribute)
        if fact.is_always_said or value != DEFAULTS[fact.attribute]:
            parts.setdefault(fact.part, {})[fact.key] = fact.dump(value)
    if facts.permission is not None:
        test["permission"] = facts.permission
    if policy.looks_at_the_time:
        test["at"] = render_timestamp(facts.now)
    decision = judge(policy, facts_of_test(test, facts.now))
    test["expect"] = {"allowed": decision.allowed}
    if decision.reason is not None:
        test["expect"]["reason"] = str(decision.reason)
    return test


def requester_of(facts: Facts) -> RequesterOfTest:
    """Whoever has these licences, as far as rules can tell."""
    requester: RequesterOfTest = {"id": facts.requester_id}
    if not facts.licenses_by_service:
        if facts.license_types:
            requester["licenseType"] = facts.license_types[0]
        if facts.has_valid_license:
            requester["hasValidLicense"] = True
    elif facts.license_types:
        requester["licenses"] = [{"licenseType": name} for name in facts.license_types]
    elif facts.has_lapsed_license:  # of which type is not known any more, and nothing asks
        requester["licenses"] = [{"licenseType": "lapsed", "expiresAt": render_timestamp(facts.now)}]
    return requester
