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


def test_a_reply_and_its_record_name_the_permission(api, check):
    made = check(READ_ONLY, permission="read")
    assert (made["permission"], made["allowed"]) == ("read", True)
    assert api.get(f"/v1/access/decisions/{made['id']}")["permission"] == "read"
    assert [one["permission"] for one in api.get("/v1/access/decisions")["data"]] == ["read"]
    made = check(READ_ONLY)
    assert made["permission"] is None
    assert api.get(f"/v1/access/decisions/{made['id']}")["permission"] is None


def test_only_the_deciding_rule_is_blamed_for_a_permission(api, check):
    made = check({"action": "deny", "conditions": {"requesterId": "other"}}, READ_ONLY, permission="train")
    assert made["reason"] == "permission_not_granted"
    first, second = made["trace"]
    assert first["failed"]["condition"] == "requesterId"
    assert (second["matched"], second["decisive"]) == (True, True)
    assert second["failed"] == {"condition": "permissions", "wanted": "train", "saw": ["read", "index"]}
    assert api.get(f"/v1/access/decisions/{made['id']}")["trace"] == made["trace"]
    for rule, permission in [
        (READ_ONLY, "read"), (READ_ONLY, None), (factories.ALLOW_ALL, "train"), (factories.DENY_ALL, "train"),
    ]:  # fmt: skip
        [step] = check(rule, permission=permission)["trace"]
        assert (step["decisive"], step["failed"]) == (True, None)
    _, later = check({**factories.DENY_ALL, "priority": 1}, READ_ONLY, permission="train")["trace"]
    assert (later["matched"], later["decisive"], later["failed"]) == (True, False, None)


def test_a_record_has_only_the_given_context(api, check):
    made = check(READ_ONLY, context=CONTEXT)
    assert api.get(f"/v1/access/decisions/{made['id']}")["context"] == CONTEXT
    assert [one["context"] for one in api.get("/v1/access/decisions")["data"]] == [CONTEXT]
    for given in [{"ip": "203.0.113.9"}, {"userAgent": "ExampleBot/1.0"}]:
        assert api.get(f"/v1/access/decisions/{check(READ_ONLY, context=given)['id']}")["context"] == given
    assert "context" not in api.get(f"/v1/access/decisions/{check(READ_ONLY)['id']}").body
