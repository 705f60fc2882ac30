import pytest

from tests import factories
from tests.client import ApiClient
from tests.endpoints.key_fields import assert_beyond_key

NEW = {"name": "Page", "type": "public"}
TEN_A_MINUTE = {"requests": 10, "period": "minute"}


@pytest.fixture
def starter(db):
    """A client of an account with 60 requests a minute and 10,000 a day."""
    return ApiClient(factories.key_text(factories.account(plan="starter")))


@pytest.fixture
def manager(account):
    """A client whose key has a limit of its own and manages keys."""
    fields = {"permissions": ["api_keys:manage", "content:read"], "rate_limit": {"requests": 120, "period": "hour"}}
    return ApiClient(factories.key_text(account, **fields))


def assert_refused(reply):
    assert_beyond_key(reply, "rateLimit")


def test_a_limit_is_kept_by_rotation_and_changed_by_patch_and_in_bulk(api, account):
    made = api.post("/v1/api-keys", {**NEW, "rateLimit": TEN_A_MINUTE})
    path = f"/v1/api-keys/{made['id']}"
    assert made["rateLimit"] == api.get(path)["rateLimit"] == TEN_A_MINUTE
    assert api.patch(path, {"rateLimit": {"requests": 7, "period": "day"}})["rateLimit"]["period"] == "day"
    rows = [{"id": made["id"], "rateLimit": None}, {**NEW, "rateLimit": TEN_A_MINUTE}, NEW]
    outcomes = api.post("/v1/api-keys/bulk", {"items": rows})["data"]
    assert [one["apiKey"]["rateLimit"] for one in outcomes] == [None, TEN_A_MINUTE, None]
    [latest] = api.get("/v1/audit", resourceId=made["id"], limit=1)["data"]
    assert latest["changes"]["rateLimit"] == [{"requests": 7, "period": "day"}, None]
    old, _ = factories.api_key(account, rate_limit={"requests": 200, "period": "minute"})
    account.plan, account.requests_per_minute, account.requests_per_day = "starter", None, None
    account.save()
    new = api.post(f"/v1/api-keys/{old.pk}/rotate", {})
    assert new["rateLimit"] == {"requests": 200, "period": "minute"}
    assert api.patch(f"/v1/api-keys/{new['id']}", {"name": "Renamed", "rateLimit": new["rateLimit"]}).status == 200


def test_limits_are_below_those_of_the_plan(starter):
    made = starter.post("/v1/api-keys", NEW)
    for sent, param in [
        ({"requests": 0, "period": "minute"}, "rateLimit.requests"), ({"requests": 5}, "rateLimit.period"),
        ({"requests": 1.5, "period": "minute"}, "rateLimit.requests"),
        ({"requests": 5, "period": "month"}, "rateLimit.period"),
        ({"requests": 5, "period": "day", "burst": 2}, "rateLimit.burst"),
        ({"requests": 60, "period": "minute"}, "rateLimit.requests"),
        ({"requests": 3_600, "period": "hour"}, "rateLimit.requests"),
        ({"requests": 10_000, "period": "day"}, "rateLimit.requests"),
    ]:  # fmt: skip
        for reply in (
            starter.post("/v1/api-keys", {**NEW, "rateLimit": sent}),
            starter.patch(f"/v1/api-keys/{made['id']}", {"rateLimit": sent}),
        ):
            assert reply.status_and_param == (422, param)
        [outcome] = starter.post("/v1/api-keys/bulk", {"items": [{**NEW, "rateLimit": sent}]})["data"]
        assert (outcome["status"], outcome["error"]["param"]) == (422, param)
    for requests, period in ((59, "minute"), (3_599, "hour"), (9_999, "day")):
        limit = {"requests": requests, "period": period}
        assert starter.post("/v1/api-keys", {**NEW, "rateLimit": limit}).status == 201
    reply = starter.post("/v1/api-keys", {**NEW, "rateLimit": {"requests": 3_600, "period": "hour"}})
    assert reply.error["message"] == (
        "Must be below the plan's limit of 3600 an hour. Without `rateLimit`, only the plan limits the key."
    )


def test_a_key_passes_its_limit_on_and_rotates_no_unlimited_key(manager, account):
    made = manager.post("/v1/api-keys", {**NEW, "permissions": ["content:read"]})
    assert made["rateLimit"] == {"requests": 120, "period": "hour"}
    wide, _ = factories.api_key(account, permissions=["content:read"])
    assert_refused(manager.post(f"/v1/api-keys/{wide.pk}/rotate", {}))


def test_a_key_allows_no_more_requests_than_its_own_limit(manager, account):
    narrow, _ = factories.api_key(account, permissions=[], rate_limit={"requests": 1, "period": "hour"})

    def replies(limit):
        created = manager.post("/v1/api-keys", {**NEW, "permissions": ["content:read"], "rateLimit": limit})
        return created, manager.patch(f"/v1/api-keys/{narrow.pk}", {"rateLimit": limit})

    for requests, period in [(119, "hour"), (2, "minute"), (120, "day")]:
        assert [reply.status for reply in replies({"requests": requests, "period": period})] == [201, 200]
    for requests, period in [(121, "hour"), (3, "minute"), (121, "day")]:
        for reply in replies({"requests": requests, "period": period}):
            assert_refused(reply)
    for reply in replies(None):
        assert_refused(reply)
