import pytest

from accounts.limits.throttling import refuse_beyond
from accounts.limits.windows import DAY, MINUTE, LimitState, Window
from kit.http.errors import RateLimitExceeded
from tests import factories


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("content", {"title": "A"}, "externalId"),
        ("policies", {"name": "A"}, "externalId"),
        ("licenses", {"requesterId": "org_a", "licenseType": "basic"}, "externalId"),
        ("sites", {"host": "pub.example"}, "host"),
    ],
)
def test_a_conflict_names_the_existing_resource(api, path, body, param):
    sent = body if param == "host" else {**body, "externalId": "one"}
    made = api.post(f"/v1/{path}", sent)
    assert made.status == 201, made.body
    refused = api.post(f"/v1/{path}", sent)
    assert (refused.status, refused.error["param"]) == (409, param)
    assert made["id"] in refused.error["message"]


def test_a_parameter_of_other_apis_or_a_time_that_cannot_be_read_gets_a_hint(api):
    for name in ("page", "offset"):
        refused = api.get(f"/v1/content?{name}=2")
        assert (refused.status, refused.error["param"]) == (400, name)
        assert "`cursor`" in refused.error["message"]
    for value, hint in (("2026-01-31T00:00:00+01:00", "%2B"), ("2026-02-31", "no day 2026-02-31")):
        refused = api.get(f"/v1/content?created[gte]={value}")
        assert (refused.status, refused.error["param"]) == (400, "created[gte]")
        assert hint in refused.error["message"]


def test_one_link_to_a_policy_is_singular(api, account):
    policy = factories.policy(account)
    factories.content(account, policy=policy)
    refused = api.delete(f"/v1/policies/{policy.pk}")
    assert refused.error["message"] == "1 content item still links to this policy."


@pytest.mark.parametrize(("seconds", "period"), [(MINUTE, "minute"), (DAY, "day")])
def test_a_plan_limit_names_its_period(seconds, period):
    state = LimitState.from_counts((Window(60, seconds),), [60], 0, allowed=False)
    with pytest.raises(RateLimitExceeded, match=f"60 requests a {period} is used up"):
        refuse_beyond(state)
