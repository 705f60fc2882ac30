"""The tests of a policy in words. Pure: JSON in, text out."""

from licensing.policies.policy_tests import PolicyTest, RequesterOfTest, told_expectation


def describe_test(test: PolicyTest) -> str:
    """The test as a sentence: "org_acme, with a valid licence of type press, asks for read of a report: denied.\""""
    content, context = test.get("content") or {}, test.get("context") or {}
    asks = f"asks for {test['permission']} of" if test.get("permission") else "asks for"
    kind = content.get("type") or "article"
    item = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    if content.get("tags"):
        item += f" tagged {', '.join(content['tags'] or ())}"
    if content.get("category"):
        item += f" in {content['category']}"
    where = f" from {context['ip']}" if context.get("ip") else ""
    when = f" at {test['at']}" if test.get("at") else ""
    return f"{describe_requester(test['requester'])} {asks} {item}{where}{when}: {told_expectation(test['expect'])}."


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
