import pytest

from tests import factories

PATH = "/v1/analytics/usage"


@pytest.fixture
def checked(api, account):
    """Three allowed and two denied checks, of two items and two requesters."""
    policy = factories.policy(account)
    one, other = (factories.content(account, policy_id=policy.pk) for _ in range(2))
    acme = factories.LICENSED_REQUESTER
    for item, requester in [(one, acme), (one, acme), (other, acme), (one, "org_zero"), (one, "org_zero")]:
        assert api.post("/v1/access/check", {"contentId": item.pk, "requester": requester}).status == 200
    return one, other


def test_a_report_counts_requesters_items_and_outcomes(api, checked, other_api):
    one, other = checked
    report = api.get(PATH, period="7d").body
    today = report.pop("timeSeries")
    assert report == {
        "summary": {"totalRequests": 5, "allowed": 3, "denied": 2, "uniqueRequesters": 2, "uniqueContent": 2},
        "topContent": [{"id": item.pk, "title": item.title, "requests": n} for item, n in ((one, 4), (other, 1))],
        "topRequesters": [
            {"id": "org_acme", "name": "Acme", "requests": 3}, {"id": "org_zero", "name": None, "requests": 2},
        ],
        "byDenialReason": [{"reason": "no_license", "count": 2}],
    }  # fmt: skip
    assert len(today) == 7
    assert [today[-1][name] for name in ("requests", "allowed", "denied")] == [5, 3, 2]
    assert other_api.get(PATH)["summary"]["totalRequests"] == 0
    stats = [api.get(f"/v1/content/{item.pk}")["stats"]["totalRequests"] for item in (one, other)]
    assert sum(stats) == 5
    api.delete(f"/v1/content/{one.pk}")
    assert api.get(PATH)["topContent"][0] == {"id": one.pk, "title": one.title, "requests": 4}


def test_an_account_without_checks_gets_zeros_for_thirty_days(api, item):
    report = api.get(PATH).body
    assert set(report["summary"].values()) == {0}
    assert [set(bucket) for bucket in report["timeSeries"]] == [{"date", "requests", "allowed", "denied"}] * 30
    assert report["topContent"] == report["topRequesters"] == report["byDenialReason"] == []
    for query, param in [
        ({"period": "1d"}, "period"), ({"groupBy": "minute"}, "groupBy"), ({"endDate": "soon"}, "endDate"),
        ({"startDate": "2026-03-05", "endDate": "2026-03-04"}, "startDate"), ({"currency": "USD"}, "currency"),
    ]:  # fmt: skip
        reply = api.get(PATH, **query)
        assert (reply.status, reply.error["code"], reply.error["param"]) == (400, "invalid_request", param)
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org", "dryRun": True})
    assert api.get(PATH)["summary"]["totalRequests"] == 0


def test_everything_since_the_first_check_is_there(api, clock, checked):
    clock.advance(days=2)
    assert [bucket["requests"] for bucket in api.get(PATH, period="all").body["timeSeries"]] == [5, 0, 0]


def test_a_check_made_before_midnight_is_yesterdays(api, account, clock):
    item = factories.content(account)
    clock.set("2026-03-04T23:59:59.999999+00:00")
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org"})
    clock.set("2026-03-05T00:00:00+00:00")
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org"})
    counts = {bucket["date"]: bucket["requests"] for bucket in api.get(PATH, period="7d")["timeSeries"]}
    assert (counts["2026-03-04"], counts["2026-03-05"]) == (1, 1)


def test_the_top_lists_have_ten_and_equals_stand_by_id(api, item):
    for requester in [*(f"org_{number:02}" for number in range(12, 0, -1)), "Zoë", "Zoë"]:
        api.post("/v1/access/check", {"contentId": item.pk, "requester": requester})
    top = [row["id"] for row in api.get(PATH)["topRequesters"]]
    assert top == ["Zoë", *(f"org_{number:02}" for number in range(1, 10))]
