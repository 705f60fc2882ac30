from unittest.mock import Mock

import pytest
from django.utils import timezone

from accounts.models import Account
from kit.http.errors import ClientGone, ValidationFailed
from licensing.content import services as content_services
from licensing.drafts import simulate as simulation
from licensing.policies import services as policy_services
from tests import factories
from tests.factories import ALLOW_ALL, ALLOW_LICENSED, DENY_ALL, LICENSED_REQUESTER


def limited(requests, period):
    return {**ALLOW_ALL, "rateLimit": {"requests": requests, "period": period}}


@pytest.fixture
def item(account, policy):
    return factories.content(account, policy_id=policy.pk, title="Markets")


@pytest.fixture
def check(api, item):
    """Check `item`, by default for a requester with a licence; return the decision's id."""

    def send(requester=LICENSED_REQUESTER, **fields):
        return api.post("/v1/access/check", {"contentId": item.pk, "requester": requester, **fields})["id"]

    return send


@pytest.fixture
def simulate(api, policy):
    return lambda **body: api.post(f"/v1/policies/{policy.pk}/simulate", body)


def counts(reply):
    return reply["total"], reply["allowedToDenied"], reply["deniedToAllowed"]


def test_a_draft_that_denies_all_lists_the_affected_requesters_and_items(simulate, check, item, policy):
    allowed, _ = check(), check("org_b")
    reply = simulate(rules=[DENY_ALL])
    body = reply.body
    [example] = body.pop("examples")
    assert example == {
        "decisionId": allowed, "contentId": item.pk, "requesterId": "org_acme", "created": body.pop("since"),
        "before": {"allowed": True, "reason": None},
        "after": {"allowed": False, "reason": "policy_denied", "matchedRule": 0},
    }  # fmt: skip
    moved = {"total": 1, "allowedToDenied": 1, "deniedToAllowed": 0}
    assert {name: body[name] for name in body if name not in ("startDate", "endDate")} == {
        "object": "policy_simulation", "policyId": policy.pk, "policyVersion": None, "truncated": False, **moved,
        "total": 2, "unchanged": 1, "reasonChanged": 1,
        "byReason": [
            {"reason": "no_license", "before": 1, "after": 0}, {"reason": "policy_denied", "before": 0, "after": 2},
        ],
        "byRequester": [{"id": "org_acme", "name": "Acme", **moved}],
        "byContent": [{"id": item.pk, "title": "Markets", **moved, "total": 2}],
        "revenueAtStake": [],
    }  # fmt: skip


def test_a_draft_that_allows_all_shows_whom_it_would_let_in(simulate, check):
    check(), check("org_b"), check("org_b")
    reply = simulate(rules=[ALLOW_ALL])
    assert counts(reply) == (3, 0, 2)
    assert [(one["id"], one["deniedToAllowed"]) for one in reply["byRequester"]] == [("org_b", 2)]
    assert reply["byReason"] == [{"reason": "no_license", "before": 2, "after": 0}]


def test_missing_fields_of_a_draft_default_to_the_saved_policy(simulate, check, policy):
    check(), check("org_b"), check(permission="print")
    reply = simulate()
    assert (reply["policyVersion"], counts(reply), reply["reasonChanged"]) == (1, (3, 0, 0), 0)
    policy_services.update_policy(policy, {"rules": [ALLOW_LICENSED]})
    reply = simulate(defaultAction="allow")
    assert (reply["policyVersion"], counts(reply)) == (None, (3, 0, 1))


def test_a_denial_for_another_reason_is_unchanged_and_listed(simulate, check):
    check(permission="print", requester="org_b")
    reply = simulate(rules=[{**ALLOW_ALL, "permissions": ["read"]}])
    assert (counts(reply), reply["unchanged"], reply["reasonChanged"]) == ((1, 0, 0), 1, 1)


def test_facts_are_those_of_the_decision_not_of_today(simulate, check, item):
    check()
    content_services.update_content(item, {"status": "archived"})
    assert counts(simulate(rules=[ALLOW_ALL])) == (1, 0, 0)


def test_a_drafts_rate_limit_is_counted_in_the_order_of_time(simulate, check, clock):
    for _ in range(3):
        check(), check({**LICENSED_REQUESTER, "id": "org_b"})
    clock.advance(hours=1)
    check()
    reply = simulate(rules=[limited(2, "hour")])
    assert counts(reply) == (7, 2, 0)
    assert reply["byReason"] == [{"reason": "rate_limit_exceeded", "before": 0, "after": 2}]
    assert [one["after"]["reason"] for one in reply["examples"]] == ["rate_limit_exceeded"] * 2


def test_a_replay_repeats_the_denials_of_rate_limits(api, account, clock):
    policy = factories.policy(account, limited(2, "hour"))
    item = factories.content(account, policy_id=policy.pk)
    for _ in range(5):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_b"})
        clock.advance(minutes=20)
    reply = api.post(f"/v1/policies/{policy.pk}/simulate", {})
    assert (counts(reply), reply["unchanged"], reply["reasonChanged"]) == ((5, 0, 0), 5, 0)


def test_a_limits_window_that_began_before_the_period_is_counted_from_its_own_beginning(simulate, check, clock):
    clock.set("2026-03-02T12:00:00+00:00")
    check(), check()
    clock.set("2026-03-20T12:00:00+00:00")
    check()
    assert counts(simulate(rules=[limited(2, "month")], period="7d")) == (1, 1, 0)


def test_only_items_that_link_to_the_policy_now_count(api, simulate, check, account, policy, item):
    check()
    other = factories.content(account)
    api.post("/v1/access/check", {"contentId": other.pk, "requester": "org_b"})
    assert counts(simulate(rules=[ALLOW_ALL])) == (1, 0, 0)
    content_services.update_content(other, {"policy_id": policy.pk})
    assert counts(simulate(rules=[ALLOW_ALL])) == (2, 0, 1)
    content_services.delete_content(item)
    assert counts(simulate(rules=[ALLOW_ALL])) == (1, 0, 1)


def test_the_period_is_of_whole_utc_days_that_end_today(simulate, check, clock):
    for moment in ("2026-03-01T23:59:59Z", "2026-03-02T00:00:00Z", "2026-03-08T05:00:00Z"):
        clock.set(moment)
        check()
    reply = simulate(period="7d")
    assert (reply["total"], reply["startDate"]) == (2, "2026-03-02T00:00:00.000000Z")
    assert reply["endDate"] == "2026-03-08T23:59:59.999999Z"
    assert simulate()["total"] == simulate(period="all")["total"] == 3


def test_dates_override_the_period_and_are_both_inside(simulate, check, clock):
    for day in (1, 2, 3):
        clock.set(f"2026-03-0{day}T12:00:00Z")
        check()
    for window, total in [
        ({"startDate": "2026-03-02"}, 2), ({"startDate": "2026-03-02", "endDate": "2026-03-02"}, 1),
        ({"startDate": "2026-03-02T12:00:00Z", "endDate": "2026-03-02T12:00:00Z"}, 1),
        ({"startDate": "2026-03-02T12:00:00.000001Z"}, 1), ({"endDate": "2026-01-01", "period": "7d"}, 0),
        ({"endDate": "2026-03-02T11:59:59.999999Z", "period": "7d"}, 1), ({"endDate": "0001-01-01"}, 0),
        ({"startDate": "0001-01-01", "endDate": "9999-12-31"}, 3),
    ]:  # fmt: skip
        assert simulate(**window)["total"] == total
    of_the_future = {"startDate": "9999-12-01", "endDate": "9999-12-31"}
    assert simulate(rules=[limited(2, "month")], **of_the_future)["total"] == 0


def test_a_limit_keeps_to_the_newest_decisions_and_says_so(simulate, check, clock):
    for _ in range(5):
        check()
        clock.advance(minutes=1)
    reply = simulate(limit=2)
    assert (reply["total"], reply["truncated"], reply["since"]) == (2, True, "2026-03-04T05:09:07.250000Z")
    assert simulate(limit=5)["truncated"] is False


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_decisions_of_one_moment_are_each_counted_once(simulate, check, clock, monkeypatch, size):
    for _ in range(6):
        check()
    monkeypatch.setattr(simulation, "CHUNK_ROWS", size)
    assert counts(simulate(rules=[limited(4, "day")])) == (6, 2, 0)
    assert simulate(limit=4)["total"] == 4


def test_revenue_at_stake_sums_the_charges_of_newly_denied_requests(api, simulate, check):
    for requester, amount in (("org_a", "0.25"), ("org_b", "0.1"), ("org_c", "9")):
        price = {"amount": amount, "currency": "EUR"}
        body = {"requesterId": requester, "licenseType": "commercial", "pricePerAccess": price}
        assert api.post("/v1/licenses", body).status == 201
        check(requester)
    draft = {"action": "deny", "priority": 0, "conditions": {"requesterId": ["org_a", "org_b"]}}
    reply = simulate(rules=[draft, ALLOW_LICENSED])
    assert (counts(reply), reply["revenueAtStake"]) == ((3, 2, 0), [{"amount": 0.35, "currency": "EUR"}])


def test_licences_that_the_service_held_then_count_in_a_replay(api, simulate, check):
    license_id = api.post("/v1/licenses", {"requesterId": "org_b", "licenseType": "commercial"})["id"]
    check("org_b")
    assert api.post(f"/v1/licenses/{license_id}/revoke").status == 200
    check("org_b")
    assert (counts(simulate()), simulate()["reasonChanged"]) == ((2, 0, 0), 0)


def test_a_simulation_writes_nothing_in_few_queries(
    simulate, check, account, monkeypatch, django_assert_max_num_queries
):
    check()
    epoch = Account.objects.get(pk=account.pk).epoch
    monkeypatch.setattr("kit.rest.views.turn_to_write", Mock(side_effect=AssertionError("it would wait for writers")))
    assert counts(simulate(rules=[DENY_ALL])) == (1, 1, 0)
    assert Account.objects.get(pk=account.pk).epoch == epoch
    monkeypatch.undo()
    for _ in range(12):
        check()
    with django_assert_max_num_queries(9):
        simulate(rules=[DENY_ALL])


def test_a_malformed_simulation_is_refused(simulate, clock):
    for body, param in [
        ({"rules": [{"action": "deny"}]}, "rules[0].conditions"), ({"rules": None}, "rules"),
        ({"defaultAction": "maybe"}, "defaultAction"), ({"period": "1d"}, "period"),
        ({"startDate": "yesterday"}, "startDate"), ({"startDate": "2026-03-02T12:00:00"}, "startDate"),
        ({"startDate": "2026-03-02", "endDate": "2026-03-01"}, "startDate"), ({"limit": 0}, "limit"),
        ({"limit": 100_001}, "limit"),
    ]:  # fmt: skip
        assert simulate(**body).status_and_param == (422, param)
    with pytest.raises(ValidationFailed):
        simulation.resolve_window(clock.now, "7d", clock.now, clock.now)


def test_a_draft_of_many_conditions_is_tried_on_fewer_decisions(simulate, check, monkeypatch):
    monkeypatch.setattr(simulation, "MAX_TESTS", 4)
    check(), check(), check()
    one = {"action": "allow", "conditions": {"licenseType": "press", "contentType": "video"}}
    reply = simulate(rules=[one])
    assert (reply["total"], reply["truncated"]) == (2, True)
    assert (simulate(rules=[DENY_ALL])["total"], simulate(rules=[DENY_ALL])["truncated"]) == (3, False)


def test_a_simulation_whose_client_has_gone_ends(request, policy, check):
    check()
    request.getfixturevalue("for_nobody")
    draft = simulation.compile_draft(policy, {"rules": [DENY_ALL]})
    start, end = simulation.resolve_window(timezone.now(), "7d", None, None)
    with pytest.raises(ClientGone):
        simulation.simulate(policy, draft, start, end)
