"""The requested permission in a check's reply and record, and in the trace if it was not granted."""

import pytest

from tests import factories

READ_ONLY = {"action": "allow", "conditions": {"default": True}, "permissions": ["read", "index"]}
CONTEXT = {"ip": "203.0.113.9", "userAgent": "ExampleBot/1.0"}


@pytest.fixture
def check(api, account):
    def send(*rules, default_action="deny", **fields):
        policy = factories.policy(account, rules=list(rules), default_action=default_action)
        item = factories.content(account, policy_id=policy.pk)
        return api.post("/v1/access/check", {"contentId": item.pk, "requester": "org", "explain": True, **fields})

    return send


def test_a_reply_and_its_record_name_the_permission_asked_for(api, check):
    made = check(READ_ONLY, permission="read")
    assert (made["permission"], made["allowed"]) == ("read", True)
    assert api.get(f"/v1/access/decisions/{made['id']}")["permission"] == "read"
    assert [one["permission"] for one in api.get("/v1/access/decisions")["data"]] == ["read"]


def test_without_one_it_is_null(api, check):
    made = check(READ_ONLY)
    assert made["permission"] is None
    assert api.get(f"/v1/access/decisions/{made['id']}")["permission"] is None


def test_a_permission_that_is_not_granted_is_explained_by_the_rule_that_decided(api, check):
    made = check({"action": "deny", "conditions": {"requesterId": "other"}}, READ_ONLY, permission="train")
    assert made["reason"] == "permission_not_granted"
    first, second = made["trace"]
    assert first["failed"]["condition"] == "requesterId"
    assert (second["matched"], second["decisive"]) == (True, True)
    assert second["failed"] == {"condition": "permissions", "wanted": "train", "saw": ["read", "index"]}
    assert api.get(f"/v1/access/decisions/{made['id']}")["trace"] == made["trace"]


@pytest.mark.parametrize(
    ("rule", "permission"),
    [(READ_ONLY, "read"), (READ_ONLY, None), (factories.ALLOW_ALL, "train"), (factories.DENY_ALL, "train")],
)
def test_nothing_failed_of_a_rule_that_decided_otherwise(check, rule, permission):
    [step] = check(rule, permission=permission)["trace"]
    assert (step["decisive"], step["failed"]) == (True, None)


def test_a_rule_after_the_one_that_decided_is_not_blamed(check):
    deny = {"action": "deny", "priority": 1, "conditions": {"default": True}}
    _, later = check(deny, READ_ONLY, permission="train")["trace"]
    assert (later["matched"], later["decisive"], later["failed"]) == (True, False, None)


def test_a_record_has_the_context_that_was_given(api, check):
    made = check(READ_ONLY, context=CONTEXT)
    assert api.get(f"/v1/access/decisions/{made['id']}")["context"] == CONTEXT
    assert [one["context"] for one in api.get("/v1/access/decisions")["data"]] == [CONTEXT]


@pytest.mark.parametrize("given", [{"ip": "203.0.113.9"}, {"userAgent": "ExampleBot/1.0"}])
def test_a_record_has_only_the_given_context(api, check, given):
    made = check(READ_ONLY, context=given)
    assert api.get(f"/v1/access/decisions/{made['id']}")["context"] == given


def test_a_check_without_context_records_none(api, check):
    assert "context" not in api.get(f"/v1/access/decisions/{check(READ_ONLY)['id']}").body
