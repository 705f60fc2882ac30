"""A policy's tests in words. Pure functions."""

from licensing.policies.facts import DEFAULTS
from licensing.policies.policy_tests import PolicyTest, RequesterOfTest, render_expectation, said_facts
from operators.policies.numbering import with_rule_names


def describe_test(test: PolicyTest) -> str:
    """Describe the test as in `org_acme, with a valid licence of type press, asks for read of a report: denied.`"""
    kind = str((test.get("content") or {}).get("type") or DEFAULTS["content_type"])
    item = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    asks = f"asks for {test['permission']} of" if test.get("permission") else "asks for"
    said = "".join(f" {fact.words.format(fact.text(value))}" for fact, value in said_facts(test) if fact.words)
    when = f" at {test['at']}" if test.get("at") else ""
    expected = with_rule_names(render_expectation(test["expect"]))
    return f"{describe_requester(test['requester'])} {asks} {item}{said}{when}: {expected}."


def describe_requester(requester: RequesterOfTest) -> str:
    held = [
        f"{one['licenseType']}{f' until {end}' if (end := one.get('expiresAt')) else ''}"
        for one in requester.get("licenses") or ()
    ]
    if held:
        return f"{requester['id']}, who holds a licence of type {' and '.join(held)},"
    kind = f" of type {requester['licenseType']}" if requester.get("licenseType") else ""
    if requester.get("hasValidLicense"):
        return f"{requester['id']}, with a valid licence{kind},"
    return f"{requester['id']}, who names a licence{kind}," if kind else f"{requester['id']}, without a licence,"
