import pytest

from tests import factories
from tests.factories import ALLOW_ALL, ALLOW_LICENSED, DENY_ALL


@pytest.fixture
def rehearse(api, item):
    """Return a function that dry-runs a proposed policy on `item` for a requester without a licence."""

    def send(policy, **fields):
        body = {"contentId": item.pk, "requester": "org_b", "dryRun": True, "policy": policy, **fields}
        return api.post("/v1/access/check", body)

    return send


def test_the_draft_decides_instead_of_the_items_own_policy(api, rehearse, item, policy, account):
    reply = rehearse({"rules": [ALLOW_ALL]})
    assert (reply.status, reply["allowed"], reply["permissions"]) == (200, True, ["full_access"])
    assert (reply["policyId"], reply["policyVersion"], reply["dryRun"], reply["id"]) == (None, None, True, None)
    assert reply["matchedRule"] == {"index": 0, "priority": None, "action": "allow"}
    assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_b"})["allowed"] is False
    assert rehearse({"defaultAction": "allow"})["allowed"] is True
    assert rehearse({})["reason"] == "policy_denied"
    assert rehearse(None)["policyId"] == policy.pk
    trace = rehearse({"rules": [DENY_ALL, ALLOW_LICENSED, ALLOW_ALL]}, explain=True)["trace"]
    assert [(step["index"], step["decisive"]) for step in trace] == [(1, False), (0, True), (2, False)]
    bare = factories.content(account)
    assert rehearse({"rules": [ALLOW_ALL]}, contentId=bare.pk)["allowed"] is True
    archived = factories.content(account, status="archived")
    assert rehearse({"defaultAction": "allow"}, contentId=archived.pk)["reason"] == "content_archived"


def test_a_rule_kept_in_the_draft_keeps_its_remaining_limit(api, account, rehearse):
    limited, wider = ({**ALLOW_ALL, "rateLimit": {"requests": most, "period": "month"}} for most in (3, 5))
    item = factories.content(account, policy_id=factories.policy(account, limited).pk)
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_b"})
    assert rehearse({"rules": [limited]}, contentId=item.pk)["rateLimit"]["remaining"] == 1
    assert rehearse({"rules": [wider]}, contentId=item.pk)["rateLimit"]["remaining"] == 3
    assert rehearse({"rules": [DENY_ALL]}, contentId=item.pk)["rateLimit"] is None
    assert rehearse({"rules": [wider]})["rateLimit"]["remaining"] == 4


def test_a_wrong_draft_is_refused_by_name(rehearse):
    for dry_run in [{"dryRun": False}, {"dryRun": None}]:
        reply = rehearse({"rules": [ALLOW_ALL]}, **dry_run)
        assert reply.status_and_param == (422, "policy")
    for draft, param in [
        ("pol_1", "policy"), ([], "policy"), ({"rules": None}, "policy.rules"), ({"rules": {}}, "policy.rules"),
        ({"rules": [ALLOW_ALL] * 101}, "policy.rules"), ({"rules": [1]}, "policy.rules[0]"),
        ({"rules": [ALLOW_ALL, {"action": "allow"}]}, "policy.rules[1].conditions"),
        ({"rules": [{**ALLOW_ALL, "conditions": {"ip": []}}]}, "policy.rules[0].conditions.ip"),
        ({"defaultAction": "maybe"}, "policy.defaultAction"), ({"defaultAction": None}, "policy.defaultAction"),
        ({"id": "pol_1"}, "policy.id"),
    ]:  # fmt: skip
        assert rehearse(draft).status_and_param == (422, param)


def test_a_batch_has_a_draft_for_all_or_one_for_each(api, item):
    def batch(**fields):
        body = {"contentId": item.pk, "requester": "org_b", "dryRun": True, **fields}
        return api.post("/v1/access/check/batch", body)

    reply = batch(policy={"rules": [ALLOW_ALL]}, checks=[{}, {"policy": {"rules": [DENY_ALL]}}])
    assert [one["allowed"] for one in reply["data"]] == [True, False]
    assert {one["policyId"] for one in reply["data"]} == {None}
    for fields, param in [
        ({"policy": {}, "checks": [{}, {"dryRun": False}]}, "policy"),
        ({"checks": [{}, {"dryRun": False, "policy": {}}]}, "checks[1].policy"),
        ({"checks": [{"policy": {"rules": [{}]}}]}, "checks[0].policy.rules[0].action"),
        ({"policy": {"rules": [{}]}, "checks": [{}]}, "policy.rules[0].action"),
    ]:
        assert batch(**fields).status_and_param == (422, param)
