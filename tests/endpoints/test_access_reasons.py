from typing import Any

import pytest

from tests import factories
from tests.factories import ALLOW_ALL, ALLOW_LICENSED, DENY_ALL


@pytest.fixture
def decide(api, account):
    """Check access to a new item under a new policy with these rules; None for no policy."""

    def send(rules: list[dict[str, Any]] | None, requester: Any = "org", default: str = "deny", **fields: Any):
        item = factories.content(account, **fields.pop("item", {}))
        if rules is not None:
            body = {"name": "Policy", "rules": rules, "defaultAction": default}
            policy = api.post("/v1/policies", body)
            api.patch(f"/v1/content/{item.pk}", {"policyId": policy["id"]})
        if fields.pop("archived", False):
            api.patch(f"/v1/content/{item.pk}", {"status": "archived"})
        return api.post("/v1/access/check", {"contentId": item.pk, "requester": requester, **fields})

    return send


def outcome(reply):
    return reply["allowed"], reply["reason"]


def test_archived_content_is_denied_before_any_rule(decide):
    reply = decide([ALLOW_ALL], archived=True)
    assert outcome(reply) == (False, "content_archived")
    assert (reply["matchedRule"], reply["permissions"]) == (None, [])
    assert outcome(decide(None, archived=True)) == (False, "content_archived")


def test_content_without_a_policy_is_denied(decide):
    reply = decide(None)
    assert outcome(reply) == (False, "no_policy")
    assert (reply["policyId"], reply["policyVersion"], reply["matchedRule"]) == (None, None, None)
    assert decide(None, explain=True)["trace"] == []
    assert "trace" not in decide([DENY_ALL]).body


def test_a_denial_names_the_missing_licence(decide):
    for requester in ["org", {"id": "org", "hasValidLicense": False}, {"id": "org", "licenseType": "personal"}]:
        assert outcome(decide([ALLOW_LICENSED, DENY_ALL], requester)) == (False, "no_license")
    personal = {"id": "org", "licenseType": "personal", "hasValidLicense": True}
    assert outcome(decide([ALLOW_LICENSED, DENY_ALL], personal)) == (False, "policy_denied")
    reply = decide([ALLOW_LICENSED])
    assert (outcome(reply), reply["matchedRule"], reply["message"]) == ((False, "no_license"), None, None)
    licensed = {"id": "org", "hasValidLicense": True}
    assert outcome(decide([ALLOW_LICENSED], licensed)) == (False, "policy_denied")


def test_the_default_action_applies_without_a_matching_rule(decide):
    assert outcome(decide([], default="deny")) == (False, "policy_denied")
    reply = decide([], default="allow")
    assert (outcome(reply), reply["permissions"], reply["matchedRule"]) == ((True, None), [], None)
    assert outcome(decide([], default="allow", permission="read")) == (False, "permission_not_granted")


def test_the_deciding_rule_must_grant_the_requested_permission(decide):
    for granted, asked, expected in [
        (["read"], "read", (True, None)),
        (["read"], "print", (False, "permission_not_granted")),
        (["full_access"], "print", (True, None)),
        ([], "print", (False, "permission_not_granted")),
        ([], None, (True, None)),
    ]:
        reply = decide([{**ALLOW_ALL, "permissions": granted}], permission=asked)
        assert outcome(reply) == expected
        assert reply["permissions"] == (granted if expected[0] else [])
    narrow = {**ALLOW_ALL, "priority": 1, "permissions": ["read"]}
    assert outcome(decide([narrow, {**ALLOW_ALL, "priority": 2}], permission="print")) == (
        False,
        "permission_not_granted",
    )


def test_rules_are_tried_by_priority_then_denials_first(decide):
    reply = decide([{**DENY_ALL, "priority": 2}, {**ALLOW_ALL, "priority": 1}])
    assert reply["matchedRule"] == {"index": 1, "priority": 1, "action": "allow"}
    reply = decide([ALLOW_ALL, {**DENY_ALL, "priority": 1_000_000}])
    assert reply["matchedRule"] == {"index": 1, "priority": 1_000_000, "action": "deny"}
    reply = decide([{**ALLOW_ALL, "priority": 5}, {**DENY_ALL, "priority": 5}])
    assert reply["matchedRule"]["index"] == 1
    reply = decide([{**ALLOW_ALL, "permissions": ["a"]}, {**ALLOW_ALL, "permissions": ["b"]}])
    assert (reply["matchedRule"]["index"], reply["permissions"]) == (0, ["a"])
    assert decide([ALLOW_ALL])["matchedRule"] == {"index": 0, "priority": None, "action": "allow"}


def test_conditions_match_known_facts(decide):
    item = {"type": "report", "tags": ["law", "eu"], "metadata": {"category": "news"}}
    personal = {"requester": {"id": "org", "licenseType": "personal"}}
    licensed = {"requester": {"id": "org", "hasValidLicense": True}}
    for conditions, fields, allowed in [
        ({"requesterId": "org"}, {}, True), ({"requesterId": ["org_b", "org"]}, {}, True),
        ({"requesterId": "org_b"}, {}, False), ({"contentType": ["image", "report"]}, {}, True),
        ({"contentType": "image"}, {}, False), ({"tags": ["sport", "eu"]}, {}, True), ({"tags": "sport"}, {}, False),
        ({"category": "news"}, {}, True), ({"category": ["sport"]}, {}, False),
        ({"permission": "read"}, {"permission": "read"}, True),
        ({"permission": "read"}, {"permission": "print"}, False), ({"permission": "read"}, {}, False),
        ({"ip": "203.0.113.0/24"}, {"context": {"ip": "203.0.113.9"}}, True),
        ({"ip": "203.0.113.0/24"}, {"context": {"ip": "::ffff:203.0.113.9"}}, True),
        ({"ip": ["10.0.0.0/8", "2001:db8::/32"]}, {"context": {"ip": "2001:db8::1"}}, True),
        ({"ip": "203.0.113.0/24"}, {"context": {"ip": "203.0.114.1"}}, False), ({"ip": "0.0.0.0/0"}, {}, False),
        ({"hasValidLicense": False}, {}, True), ({"hasValidLicense": True}, {}, False),
        ({"hasValidLicense": True}, licensed, True), ({"licenseType": "personal"}, personal, True),
        ({"licenseType": "personal"}, {}, False), ({"before": "2999-01-01"}, {}, True),
        ({"before": "2001-01-01"}, {}, False), ({"after": "2001-01-01"}, {}, True),
        ({"after": "2999-01-01"}, {}, False), ({"tags": "law", "category": "news"}, {}, True),
        ({"tags": "law", "category": "sport"}, {}, False),
    ]:  # fmt: skip
        rule = {"action": "allow", "conditions": conditions, "permissions": ["full_access"]}
        assert decide([rule], item=item, **fields)["allowed"] is allowed
    for name, value in {"category": "news", "tags": "law", "permission": "read", "ip": "::/0"}.items():
        assert decide([{"action": "allow", "conditions": {name: value}}])["allowed"] is False


def test_explain_shows_the_expected_and_actual_facts_of_each_rule(decide):
    reply = decide([DENY_ALL, ALLOW_LICENSED], {"id": "org", "licenseType": "personal"}, explain=True)
    failed = {"condition": "licenseType", "wanted": ["commercial", "enterprise"], "saw": ["personal"]}
    first = {"index": 1, "priority": 1, "action": "allow", "matched": False, "decisive": False, "failed": failed}
    second = {"index": 0, "priority": 99, "action": "deny", "matched": True, "decisive": True, "failed": None}
    assert reply["trace"] == [first, second]
