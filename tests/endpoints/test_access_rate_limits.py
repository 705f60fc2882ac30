from datetime import UTC, datetime
from typing import Any

import pytest

from tests import factories
from tests.factories import ALLOW_ALL, DENY_ALL


def limited(requests: int, period: str, **fields: Any) -> dict[str, Any]:
    return {**ALLOW_ALL, "priority": 1, "rateLimit": {"requests": requests, "period": period}, **fields}


class Item:
    """An item under a policy with these rules, and checks of it."""

    def __init__(self, api, account, *rules):
        self.api = api
        self.policy = factories.policy(account, *rules)
        self.item = factories.content(account, policy_id=self.policy.pk)

    def check(self, requester="org", **fields):
        return self.api.post("/v1/access/check", {"contentId": self.item.pk, "requester": requester, **fields})

    def is_allowed(self, requester="org", **fields):
        return self.check(requester, **fields)["allowed"]

    def edit(self, **fields):
        assert self.api.patch(f"/v1/policies/{self.policy.pk}", fields).status == 200


@pytest.fixture
def under(api, account):
    return lambda *rules: Item(api, account, *rules)


def test_the_reply_has_the_remaining_requests(under, clock):
    item = under(limited(2, "hour"))
    reset = int(datetime.fromisoformat("2026-03-04T06:00:00+00:00").timestamp())
    first, second, third = (item.check() for _ in range(3))
    shown = {"requests": 2, "period": "hour", "reset": reset}
    assert first["rateLimit"] == {**shown, "remaining": 1, "retryAfter": None}
    assert second["rateLimit"] == {**shown, "remaining": 0, "retryAfter": None}
    assert third["rateLimit"] == {**shown, "remaining": 0, "retryAfter": 53 * 60 + 53}
    assert [reply["allowed"] for reply in (first, second, third)] == [True, True, False]
    assert (third.status, third["reason"], third["permissions"]) == (200, "rate_limit_exceeded", [])
    assert third["matchedRule"]["index"] == 0


def test_a_window_ends_with_its_utc_period(under, clock):
    """The windows of all periods are in tests/decisions/test_rate_limit_windows.py."""
    item = under(limited(1, "week"))
    clock.set("2026-03-04T05:06:07Z")
    first = item.check()
    assert first["allowed"]
    assert first["rateLimit"]["reset"] == datetime(2026, 3, 9, tzinfo=UTC).timestamp()
    clock.set("2026-03-08T23:59:59.999Z")
    assert not item.is_allowed()
    clock.set("2026-03-09T00:00:00Z")
    assert item.is_allowed()


def test_each_requester_and_rule_has_its_own_count(under, account):
    item = under(limited(1, "month"))
    assert [item.is_allowed(who) for who in ("org_a", "org_b", "org_a", "org_b")] == [True, True, False, False]
    item = under(
        limited(1, "month", conditions={"permission": "read"}), limited(1, "month", conditions={"permission": "print"})
    )
    assert [item.is_allowed(permission=name) for name in ("read", "print", "read")] == [True, True, False]
    item = under(limited(1, "month"))
    other = factories.content(account, policy_id=item.policy.pk)
    assert item.is_allowed()
    assert not item.api.post("/v1/access/check", {"contentId": other.pk, "requester": "org"})["allowed"]


def test_a_denial_is_final_and_counts_nothing(under):
    item = under(limited(1, "month"), {**ALLOW_ALL, "priority": 2})
    assert [item.check()["reason"] for _ in range(2)] == [None, "rate_limit_exceeded"]
    item = under(limited(1, "month", permissions=["read"]))
    assert item.check(permission="print")["reason"] == "permission_not_granted"
    assert item.is_allowed(permission="read")


def test_a_dry_run_consumes_nothing(under):
    item = under(limited(1, "month"))
    assert [item.is_allowed(dryRun=True) for _ in range(2)] == [True, True]
    assert item.is_allowed()
    reply = item.check(dryRun=True)
    assert (reply["allowed"], reply["reason"]) == (False, "rate_limit_exceeded")
    item = under(per_visitor(2))
    item.check(context={"visitorId": "a"})
    tried = [item.check(context={"visitorId": who}, dryRun=True)["rateLimit"]["remaining"] for who in "ab"]
    assert tried == [0, 1]


def test_the_count_survives_an_unrelated_edit_of_the_policy(under):
    for edit in [
        {"name": "Renamed", "description": "Other words."},
        {"rules": [{**DENY_ALL, "priority": 50}, limited(1, "month")]},
        {"rules": [limited(1, "month", priority=7, message="Slow down.", permissions=["read", "print"])]},
        {"defaultAction": "allow"},
    ]:
        item = under(limited(1, "month"))
        assert item.is_allowed(), edit
        item.edit(**edit)
        assert item.check()["reason"] == "rate_limit_exceeded", edit


def test_a_changed_limit_keeps_its_count(under):
    item = under(limited(1, "month"))
    item.check()
    item.edit(rules=[limited(3, "month")])
    assert [item.is_allowed() for _ in range(3)] == [True, True, False]
    item.edit(rules=[])
    item.api.post(f"/v1/policies/{item.policy.pk}/rollback", {"version": 1})
    assert not item.is_allowed()


def test_a_denial_by_limit_is_recorded_and_counted(under):
    item = under(limited(1, "month"))
    item.check()
    denied = item.check()
    kept = item.api.get(f"/v1/access/decisions/{denied['id']}")
    assert (kept["reason"], kept["rateLimit"]) == (denied["reason"], denied["rateLimit"])
    stats = item.api.get(f"/v1/content/{item.item.pk}")["stats"]
    assert stats == {"totalRequests": 2, "allowedRequests": 1, "deniedRequests": 1}
    assert under(ALLOW_ALL).check()["rateLimit"] is None
    item = under(limited(1, "month", permissions=["read"]))
    item.check()
    reply = item.check(permission="print")
    assert (reply["reason"], reply["rateLimit"]) == ("permission_not_granted", None)


def per_visitor(requests: int) -> dict[str, Any]:
    return {**ALLOW_ALL, "rateLimit": {"requests": requests, "period": "month", "per": "visitor"}}


def test_visitors_are_counted_apart(under):
    item = under(per_visitor(2))
    assert [item.is_allowed(context={"visitorId": "a"}) for _ in range(3)] == [True, True, False]
    assert item.is_allowed(context={"visitorId": "b"})
    assert not item.is_allowed(context={"visitorId": "a", "ip": "203.0.113.9"})
    item = under(per_visitor(1))
    assert [item.is_allowed(context={"ip": "203.0.113.9"}) for _ in range(2)] == [True, False]
    assert item.is_allowed(context={"ip": "203.0.113.10"})
    assert [item.is_allowed() for _ in range(2)] == [True, False]
    assert [item.is_allowed(who, context={"visitorId": "a"}) for who in ("org", "other", "org")] == [True, True, False]
    item = under(limited(1, "month"))
    assert [item.is_allowed() for _ in range(2)] == [True, False]
    item.edit(rules=[{**per_visitor(1), "priority": 1}])
    assert item.is_allowed()


def test_other_things_to_count_are_refused(api):
    for per in ["everybody", None, ""]:
        rule = {**ALLOW_ALL, "rateLimit": {"requests": 1, "period": "month", "per": per}}
        reply = api.post("/v1/policies", {"name": "x", "rules": [rule]})
        assert reply.status_and_param == (422, "rules[0].rateLimit.per")
