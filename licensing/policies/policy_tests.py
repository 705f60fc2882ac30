"""Policy tests: example requests with the expected decision. Pure: no ORM, no clock.

Each version must pass its own tests before it is stored (licensing.policies.services). They are not part of the
compiled policy, so checks never load them.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NotRequired, TypedDict, cast

from msgspec import Struct

from kit.values.json_values import JsonObject
from kit.values.timestamps import parse_timestamp, render_timestamp
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import Decision, decide, judge
from licensing.policies.effective_licenses import Standing, Term, build_facts, parse_asserted_standing, standing_at
from licensing.policies.facts import (
    DEFAULTS,
    TESTED_FACTS,
    Fact,
    Facts,
    HeldLicense,
    Recorded,
    facts_of_check,
    facts_of_item,
)
from licensing.policies.rules import Rule

MAX_TESTS = 100
MAX_TESTS_BYTES = 64 * 1024  # of compact JSON; same as for rules
MAX_LICENSES = 50
BEGINNING = datetime.min.replace(tzinfo=UTC)  # default start of a licence


class LicenseOfTest(TypedDict):
    licenseType: str
    startsAt: NotRequired[str | None]
    expiresAt: NotRequired[str | None]


class RequesterOfTest(TypedDict):
    """The requester of a test. `licenses` are the service's and override the caller's claims, as in a check.

    Further members are facts of the requester (licensing.policies.facts.TESTED_FACTS).
    """

    id: str
    licenseType: NotRequired[str | None]
    hasValidLicense: NotRequired[bool | None]
    licenses: NotRequired[list[LicenseOfTest] | None]


class Expectation(TypedDict):
    """The expected decision. `matchedRule` is the deciding rule's index, null for the default action; absent means
    any.
    """

    allowed: bool
    reason: NotRequired[str | None]
    matchedRule: NotRequired[int | None]


class PolicyTest(TypedDict):
    """A valid test in the JSON of the API."""

    name: NotRequired[str | None]
    requester: RequesterOfTest
    content: NotRequired[JsonObject | None]
    permission: NotRequired[str | None]
    context: NotRequired[JsonObject | None]
    at: NotRequired[str | None]
    expect: Expectation


class TestResult(Struct, frozen=True):
    """The result of a test. `expected` and `decided` are texts such as "denied (no_license) by rules[1]"."""

    index: int
    name: str | None
    passed: bool
    expected: str
    decided: str

    @property
    def title(self) -> str:
        if self.name:
            return f"“{self.name}”"
        return f"Test {self.index}"

    @property
    def sentence(self) -> str:
        if self.passed:
            return f"{self.title}: {self.decided}, as expected."
        return f"{self.title}: expected to be {self.expected}, but it is {self.decided}."


def run_tests(
    rules: Sequence[Rule], default_action: str, tests: Sequence[PolicyTest], now: datetime
) -> list[TestResult]:
    """Run the tests as if the policy were enforced, with unused rate limits.

    `now` is the time of tests without `at`.
    """
    policy = CompiledPolicy.of(None, None, default_action, tuple(rules))
    return [run_policy_test(policy, index, test, now) for index, test in enumerate(tests)]


def run_policy_test(policy: CompiledPolicy, index: int, test: PolicyTest, now: datetime) -> TestResult:
    decision = decide(policy, build_test_facts(test, now))
    expect = test["expect"]
    passed = (
        decision.allowed is expect["allowed"]
        and expect.get("reason") in (None, decision.reason)
        and ("matchedRule" not in expect or expect["matchedRule"] == rule_index(decision))
    )
    return TestResult(index, test.get("name"), passed, render_expectation(expect), render_decision(decision))


def rule_index(decision: Decision) -> int | None:
    return decision.rule.index if decision.rule is not None else None


def render_expectation(expect: Expectation) -> str:
    outcome = render_outcome(expect["allowed"], expect.get("reason"))
    if "matchedRule" in expect:
        return f"{outcome} by {render_rule(expect['matchedRule'])}"
    return outcome


def render_decision(decision: Decision) -> str:
    return f"{render_outcome(decision.allowed, decision.reason)} by {render_rule(rule_index(decision))}"


def render_outcome(allowed: bool, reason: str | None) -> str:
    """Format a decision, as in "denied (no_license)". Observed denials are allowed and have a reason."""
    if not reason:
        return "allowed" if allowed else "denied"
    if allowed:
        return f"allowed, observed ({reason})"
    return f"denied ({reason})"


def render_rule(index: int | None) -> str:
    return "the default action" if index is None else f"rules[{index}]"


def build_test_facts(test: PolicyTest, now: datetime) -> Facts:
    """Build the facts of a check like this test."""
    at = test.get("at")
    moment = parse_timestamp(at) if at else now
    requester = test["requester"]
    standing = resolve_standing(requester, moment)
    test_facts = {fact.name: value for fact, value in specified_facts(test)}
    item_facts = facts_of_item(test_facts)
    check_facts = facts_of_check(test_facts)
    return build_facts(standing, moment, requester["id"], test.get("permission"), item_facts, check_facts)


def specified_facts(test: PolicyTest) -> Iterator[tuple[Fact, object]]:
    """Yield the facts that the test specifies, with their JSON."""
    parts = cast("dict[str, Recorded | None]", test)
    for fact in TESTED_FACTS:
        value = (parts.get(fact.part) or {}).get(fact.key)
        if value not in (None, [], {}):
            yield fact, value


def resolve_standing(requester: RequesterOfTest, now: datetime) -> Standing:
    """Resolve the licences: those of the service if any has started, else the caller's claims."""
    terms = sorted(map(build_license_term, requester.get("licenses") or ()), key=lambda term: term.starts_at)
    return standing_at(terms, now) or parse_asserted_standing(requester)


def build_license_term(license_: LicenseOfTest) -> Term:
    start = license_.get("startsAt")
    end = license_.get("expiresAt")
    license_held = HeldLicense(license_["licenseType"], "service", expires_at=parse_timestamp(end) if end else None)
    return Term(license_held, parse_timestamp(start) if start else BEGINNING)


def build_policy_test(policy: CompiledPolicy, facts: Facts, name: str) -> PolicyTest:
    """Build a test from these facts that expects the policy's current decision, ignoring its mode.

    It has a time only if the policy depends on the time.
    """
    test: PolicyTest = {"name": name, "requester": build_test_requester(facts), "expect": {"allowed": False}}
    parts = cast("dict[str, Recorded]", test)
    for fact in TESTED_FACTS:
        value = getattr(facts, fact.attribute)
        if fact.is_always_said or value != DEFAULTS[fact.attribute]:
            parts.setdefault(fact.part, {})[fact.key] = fact.dump(value)
    if facts.permission is not None:
        test["permission"] = facts.permission
    if policy.looks_at_the_time:
        test["at"] = render_timestamp(facts.now)
    decision = judge(policy, build_test_facts(test, facts.now))
    test["expect"] = {"allowed": decision.allowed}
    if decision.reason is not None:
        test["expect"]["reason"] = str(decision.reason)
    return test


def build_test_requester(facts: Facts) -> RequesterOfTest:
    """Build a test requester with equivalent licences."""
    requester: RequesterOfTest = {"id": facts.requester_id}
    if not facts.licenses_by_service:
        if facts.license_types:
            requester["licenseType"] = facts.license_types[0]
        if facts.has_valid_license:
            requester["hasValidLicense"] = True
    elif facts.license_types:
        requester["licenses"] = [{"licenseType": name} for name in facts.license_types]
    elif facts.has_lapsed_license:  # its type is unknown, and no rule can depend on it
        requester["licenses"] = [{"licenseType": "lapsed", "expiresAt": render_timestamp(facts.now)}]
    return requester
