from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from kit.values.timestamps import render_timestamp
from tests import factories


def kept_for(api, account, rules, *, default_action="deny", requester="org", **fields: Any) -> int:
    policy = factories.policy(account, *rules, default_action=default_action).pk
    body = {"contentId": factories.content(account, policy_id=policy).pk, "requester": requester, **fields}
    reply = api.post("/v1/access/check", body)
    assert reply.status == 200, reply
    return reply["cacheFor"]


def at(**ahead: float) -> str:
    return render_timestamp(timezone.now() + timedelta(**ahead)) or ""


def rule(action: str = "allow", **conditions: Any) -> dict[str, Any]:
    return {"action": action, "conditions": conditions or {"default": True}}


@pytest.mark.parametrize("conditions", ["before", "after"])
@pytest.mark.parametrize("action", ["allow", "deny"])
def test_it_ends_with_the_next_boundary_of_the_policy(api, account, action, conditions):
    rules = [rule(action, **{conditions: at(seconds=30)}), rule(before=at(days=-1)), rule("deny", after=at(days=9))]
    assert 20 <= kept_for(api, account, rules) <= 30
    assert kept_for(api, account, [rule(action, **{conditions: at(seconds=-30)}), rule()]) == 60
    assert kept_for(api, account, [rule(action, **{conditions: at(hours=2)}), rule()]) == 60


def test_it_ends_with_the_licence(api, account):
    factories.license(account, "org_soon", expires_at=timezone.now() + timedelta(seconds=30))
    factories.license(account, "org_late", expires_at=timezone.now() + timedelta(days=30))
    rules = [factories.ALLOW_LICENSED]
    assert 20 <= kept_for(api, account, rules, requester="org_soon") <= 30
    assert kept_for(api, account, rules, requester="org_late") == 60


def test_it_is_0_where_each_access_counts(api, account):
    limited = {**rule(), "rateLimit": {"requests": 1, "period": "month"}}
    policy = factories.policy(account, limited).pk
    body = {"contentId": factories.content(account, policy_id=policy).pk, "requester": "org"}
    allowed, denied = (api.post("/v1/access/check", body) for _ in range(2))
    assert (allowed["allowed"], denied["reason"]) == (True, "rate_limit_exceeded")
    assert (allowed["cacheFor"], denied["cacheFor"]) == (0, 0)
    factories.license(account, "org_pays", per_access="0.05")
    assert kept_for(api, account, [factories.ALLOW_LICENSED], requester="org_pays") == 0


def test_an_answer_may_be_kept_for_the_setting(api, account, settings):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    limited = factories.policy(account, {**rule(), "rateLimit": {"requests": 1, "period": "month"}}).pk
    other = factories.content(account, policy_id=limited).pk
    checks = [{"contentId": item.pk}, {"contentId": other}]
    data = api.post("/v1/access/check/batch", {"requester": "org", "checks": checks})["data"]
    assert [one["cacheFor"] for one in data] == [60, 0]
    assert kept_for(api, account, [rule()], dryRun=True) == 0
    assert kept_for(api, account, [rule()]) == 60
    assert kept_for(api, account, [rule("deny")]) == 60
    settings.DECISION_CACHE_SECONDS = 5
    assert kept_for(api, account, [rule()]) == 5
    settings.DECISION_CACHE_SECONDS = 0
    assert kept_for(api, account, [rule()]) == 0
