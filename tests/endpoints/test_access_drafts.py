"""A proposed policy in a dry run: its decision, without saving it (docs/reference/api.md)."""

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


def test_the_draft_decides_instead_of_the_items_own_policy(api, rehearse, item):
    reply = rehearse({"rules": [ALLOW_ALL]})
    assert (reply.status, reply["allowed"], reply["permissions"]) == (200, True, ["full_access"])
    assert (reply["policyId"], reply["policyVersion"], reply["dryRun"], reply["id"]) == (None, None, True, None)
    assert reply["matchedRule"] == {"index": 0, "priority": None, "action": "allow"}
    assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_b"})["allowed"] is False


def test_a_draft_may_be_a_default_action_alone(rehearse):
    assert rehearse({"defaultAction": "allow"})["allowed"] is True


def test_an_empty_draft_denies_as_a_new_policy_would(rehearse):
    assert rehearse({})["reason"] == "policy_denied"


def test_a_null_draft_is_ignored(rehearse, policy):
    assert rehearse(None)["policyId"] == policy.pk


def test_the_trace_is_that_of_the_draft(rehearse):
    trace = rehearse({"rules": [DENY_ALL, ALLOW_LICENSED, ALLOW_ALL]}, explain=True)["trace"]
    assert [(step["index"], step["decisive"]) for step in trace] == [(1, False), (0, True), (2, False)]


def test_a_draft_can_be_tried_on_an_item_without_a_policy(account, rehearse):
    bare = factories.content(account)
    assert rehearse({"rules": [ALLOW_ALL]}, contentId=bare.pk)["allowed"] is True


def test_no_draft_opens_an_archived_item(account, rehearse):
    archived = factories.content(account, status="archived")
    assert rehearse({"defaultAction": "allow"}, contentId=archived.pk)["reason"] == "content_archived"


def test_a_rule_kept_in_the_draft_keeps_its_remaining_limit(api, account, rehearse):
    limited = {**ALLOW_ALL, "rateLimit": {"requests": 3, "period": "month"}}
    item = factories.content(account, policy_id=factories.policy(account, limited).pk)
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_b"})
    wider = {**ALLOW_ALL, "rateLimit": {"requests": 5, "period": "month"}}
    assert rehearse({"rules": [limited]}, contentId=item.pk)["rateLimit"]["remaining"] == 1
    assert rehearse({"rules": [wider]}, contentId=item.pk)["rateLimit"]["remaining"] == 3
    assert rehearse({"rules": [DENY_ALL]}, contentId=item.pk)["rateLimit"] is None


def test_a_new_rule_of_the_draft_has_its_whole_limit(rehearse):
    limited = {**ALLOW_ALL, "rateLimit": {"requests": 5, "period": "month"}}
    reply = rehearse({"rules": [limited]})
    assert reply["rateLimit"]["remaining"] == 4


@pytest.mark.parametrize("dry_run", [{"dryRun": False}, {"dryRun": None}])
def test_without_a_dry_run_a_draft_is_refused(rehearse, dry_run):
    reply = rehearse({"rules": [ALLOW_ALL]}, **dry_run)
    assert (reply.status, reply.error["param"]) == (422, "policy")


@pytest.mark.parametrize(
    ("draft", "param"),
    [
        ("pol_1", "policy"),
        ([], "policy"),
        ({"rules": None}, "policy.rules"),
        ({"rules": {}}, "policy.rules"),
        ({"rules": [ALLOW_ALL] * 101}, "policy.rules"),
        ({"rules": [1]}, "policy.rules[0]"),
        ({"rules": [ALLOW_ALL, {"action": "allow"}]}, "policy.rules[1].conditions"),
        ({"rules": [{**ALLOW_ALL, "conditions": {"ip": []}}]}, "policy.rules[0].conditions.ip"),
        ({"defaultAction": "maybe"}, "policy.defaultAction"),
        ({"defaultAction": None}, "policy.defaultAction"),
        ({"id": "pol_1"}, "policy.id"),
    ],
)
def test_a_draft_is_checked_as_a_policy_is(rehearse, draft, param):
    reply = rehearse(draft)
    assert (reply.status, reply.error["param"]) == (422, param)


def test_a_batch_takes_a_draft_for_all_and_one_for_each(api, item):
    body = {
        "contentId": item.pk,
        "requester": "org_b",
        "dryRun": True,
        "policy": {"rules": [ALLOW_ALL]},
        "checks": [{}, {"policy": {"rules": [DENY_ALL]}}],
    }
    reply = api.post("/v1/access/check/batch", body)
    assert [one["allowed"] for one in reply["data"]] == [True, False]
    assert {one["policyId"] for one in reply["data"]} == {None}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"policy": {}, "checks": [{}, {"dryRun": False}]}, "policy"),
        ({"checks": [{}, {"dryRun": False, "policy": {}}]}, "checks[1].policy"),
        ({"checks": [{"policy": {"rules": [{}]}}]}, "checks[0].policy.rules[0].action"),
        ({"policy": {"rules": [{}]}, "checks": [{}]}, "policy.rules[0].action"),
    ],
)
def test_a_batch_names_the_draft_that_is_wrong(api, item, fields, param):
    reply = api.post("/v1/access/check/batch", {"contentId": item.pk, "requester": "org_b", "dryRun": True, **fields})
    assert (reply.status, reply.error["param"]) == (422, param)
