import pytest

from tests import factories

WORK = {"days": ["mon", "tue", "wed", "thu", "fri"], "from": "09:00", "to": "18:00", "timeZone": "Europe/Berlin"}
IN_WORKING_HOURS = {"action": "allow", "conditions": {"schedule": WORK}, "permissions": ["read"]}


@pytest.fixture
def policy(account):
    return factories.policy(account, IN_WORKING_HOURS)


def test_the_time_of_the_week_decides_and_no_answer_is_kept_past_its_change(check, clock):
    for moment, is_allowed, seconds in [
        ("2026-06-01T06:59:30Z", False, 30), ("2026-06-01T07:00:00Z", True, 60), ("2026-06-01T15:59:50Z", True, 10),
        ("2026-06-01T16:00:00Z", False, 60), ("2026-06-06T07:00:00Z", False, 60),
    ]:  # fmt: skip
        clock.set(moment)
        reply = check()
        assert (reply["allowed"], reply["cacheFor"]) == (is_allowed, seconds)
    clock.set("2026-06-06T08:00:00Z")
    [step] = check(explain=True)["trace"]
    assert step["failed"] == {"condition": "schedule", "wanted": WORK, "saw": "2026-06-06T08:00:00.000000Z"}
    clock.set("2026-06-01T15:59:50Z")
    assert check(sign=True)["cacheFor"] == 10


def test_no_answer_is_kept_past_a_clock_change_that_ends_the_hours(api, account, clock):
    conditions = {"schedule": {"from": "02:30", "to": "04:00", "timeZone": "Europe/Berlin"}}
    policy = factories.policy(account, {**IN_WORKING_HOURS, "conditions": conditions})
    body = {"contentId": factories.content(account, policy_id=policy.pk).pk, "requester": "org_acme"}
    clock.set("2026-10-25T00:59:45Z")
    first = api.post("/v1/access/check", body)
    clock.set("2026-10-25T01:00:00Z")
    again = api.post("/v1/access/check", body)
    assert [(one["allowed"], one["cacheFor"]) for one in (first, again)] == [(True, 15), (False, 60)]
