import pytest

from analytics.models import AccessEvent, LedgerEntry
from tests import factories

LIMITED = {**factories.ALLOW_ALL, "rateLimit": {"requests": 1, "period": "day"}}


@pytest.fixture
def check(api, account):
    """Check an item whose policy has this mode."""

    def check(mode, *rules, requester="org_a", item=None, **fields):
        if item is None:
            policy = api.post("/v1/policies", {"name": "P", "mode": mode, "rules": list(rules)})
            item = factories.content(account, policy_id=policy["id"]).pk
        return api.post("/v1/access/check", {"contentId": item, "requester": requester, **fields})

    return check


def usage(api):
    return api.get("/v1/analytics/usage")["summary"]


def test_a_policy_is_enforced_unless_it_says_otherwise(api, check):
    made = api.post("/v1/policies", {"name": "P"})
    assert made["mode"] == "enforce"
    assert api.patch(f"/v1/policies/{made['id']}", {"mode": "observe"})["mode"] == "observe"
    assert api.post("/v1/policies", {"name": "P", "mode": "audit"}).status_and_param == (422, "mode")
    reply = check("enforce", factories.DENY_ALL)
    assert (reply["allowed"], reply["reason"], reply.body.get("observed")) == (False, "policy_denied", None)
    made = api.post("/v1/policies", {"name": "P", "mode": "observe"})
    api.patch(f"/v1/policies/{made['id']}", {"mode": "enforce"})
    assert api.post(f"/v1/policies/{made['id']}/rollback", {"version": 1})["mode"] == "observe"
    assert [one["mode"] for one in api.get(f"/v1/policies/{made['id']}/versions")["data"]] == [
        "observe", "enforce", "observe",
    ]  # fmt: skip


def test_an_observed_denial_is_allowed_recorded_and_reported(api, check):
    reply = check("observe", factories.DENY_ALL)
    assert (reply["allowed"], reply["reason"], reply["permissions"]) == (True, None, [])
    assert reply["observed"] == {"allowed": False, "reason": "policy_denied"}
    assert reply["matchedRule"]["index"] == 0
    assert (usage(api)["allowed"], usage(api)["denied"]) == (1, 0)
    recorded = api.get(f"/v1/access/decisions/{reply['id']}").body
    trace = recorded.pop("trace")
    assert recorded == reply.body
    assert [step["decisive"] for step in trace] == [True]
    assert AccessEvent.objects.get(pk=reply["id"]).observed == "policy_denied"
    told = api.post(f"/v1/policies/{reply['policyId']}/simulate", {})
    assert (told["allowedToDenied"], told["byRequester"][0]["id"]) == (1, "org_a")


def test_an_observed_policy_that_allows_records_nothing_as_observed(api, check, account):
    reply = check("observe", factories.ALLOW_ALL)
    assert (reply["allowed"], reply["permissions"], reply.body.get("observed")) == (True, ["full_access"], None)
    assert AccessEvent.objects.get(pk=reply["id"]).observed is None
    for mode in ["observe", "disabled"]:
        item = check(mode, factories.ALLOW_ALL)["contentId"]
        api.patch(f"/v1/content/{item}", {"status": "archived"})
        reply = check(mode, item=item)
        assert (reply["allowed"], reply["reason"]) == (False, "content_archived")


def test_a_used_up_limit_is_observed_too(api, check):
    first = check("observe", LIMITED)
    second = check("observe", item=first["contentId"])
    assert (first["allowed"], first.body.get("observed")) == (True, None)
    assert second["observed"] == {"allowed": False, "reason": "rate_limit_exceeded"}
    assert (second["allowed"], second["reason"], second["permissions"]) == (True, None, [])
    assert api.get(f"/v1/access/decisions/{second['id']}")["observed"] == second["observed"]


def test_an_observed_decision_costs_nothing(api, account, check):
    factories.license(account, "org_a", per_access="0.05")
    allowed = check("observe", LIMITED)
    refused = check("observe", item=allowed["contentId"])
    denied = check("observe", factories.DENY_ALL)
    assert [one["charge"] for one in (allowed, refused, denied)] == [None, None, None]
    assert not LedgerEntry.objects.exists()
    for one in (allowed, refused, denied):
        recorded = api.get(f"/v1/access/decisions/{one['id']}")
        assert (recorded["charge"], recorded["cacheFor"]) == (None, one["cacheFor"])


def test_a_disabled_policy_allows_everything_and_evaluates_nothing(api, account, check):
    factories.license(account, "org_a", per_access="0.05")
    reply = check("disabled", factories.DENY_ALL, permission="commercial_use", explain=True)
    assert (reply["allowed"], reply["matchedRule"], reply["charge"], reply["trace"]) == (True, None, None, [])
    assert reply.body.get("observed") is None
    assert api.get(f"/v1/access/decisions/{reply['id']}").body == reply.body
    assert not LedgerEntry.objects.exists()


def test_a_change_of_mode_holds_for_the_next_check(api, check):
    reply = check("observe", factories.DENY_ALL)
    changed = api.patch(f"/v1/policies/{reply['policyId']}", {"mode": "enforce"})
    assert changed["version"] == 2
    assert check("enforce", item=reply["contentId"])["allowed"] is False
    item = check("observe", LIMITED)["contentId"]
    replies = api.post("/v1/access/check/batch", {"contentId": item, "requester": "org_b", "checks": [{}, {}]})["data"]
    assert [one.get("observed") for one in replies] == [None, {"allowed": False, "reason": "rate_limit_exceeded"}]
