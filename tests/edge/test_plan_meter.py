import json

import pytest

from accounts.events.models import Event
from accounts.limits import events as limit_events
from accounts.plans.services import update_account
from tests import factories
from tests.client import ApiClient
from tests.edge.asking import READERS

pytestmark = pytest.mark.django_db(transaction=True)
ME = "/v1/accounts/me"


@pytest.fixture
def small(account):
    """An account whose plan includes 2 API requests and 5 edge requests a minute."""
    fields = {"requests_per_minute": 2, "requests_per_day": 100, "edge_requests_per_minute": 5}
    return update_account(account, {"plan": "enterprise", **fields})


def told():
    limit_events.write_queued()
    return [json.loads(one.data) for one in Event.objects.filter(type="limit.reached").order_by("pk")]


def test_limit_reached_is_sent_at_four_fifths_and_at_the_end_once_a_window(ask, site, small, clock):
    site(READERS)
    for _ in range(12):
        ask("/premium/a")
    events = told()
    assert [(one["scope"], one["period"], one["percent"], one["used"]) for one in events] == [
        ("edge", "minute", 80, 4),
        ("edge", "minute", 100, 5),
    ]
    assert {(one["limit"], one["requester"], one["policyId"]) for one in events} == {(5, None, None)}
    clock.advance(minutes=1)
    for _ in range(5):
        ask("/premium/a")
    assert len(told()) == 4


def test_the_meter_counts_beyond_the_plan_and_apart_from_requests(ask, site, small, clock):
    site(READERS)
    for _ in range(7):
        ask("/premium/a")
    mine, now = ApiClient(factories.key_text(small)).get(ME), int(clock.now.timestamp())
    assert mine["edgeLimits"] == {
        "minute": {"limit": 5, "used": 7, "remaining": 0, "reset": (now // 60 + 1) * 60},
        "day": {"limit": 1_000, "used": 7, "remaining": 993, "reset": (now // 86_400 + 1) * 86_400},
    }
    assert mine["limits"]["minute"]["used"] == 1


def test_a_question_counts_once_though_it_is_decided_again_on_newer_facts(ask, site, small, clock):
    for _ in range(3):
        site(READERS)
        for _ in range(2):
            ask("/premium/a")
    assert ApiClient(factories.key_text(small)).get(ME)["edgeLimits"]["minute"]["used"] == 6


def test_used_up_requests_of_the_api_close_no_page(ask, site, small, clock):
    site(READERS)
    api = ApiClient(factories.key_text(small))
    assert [api.get(ME).status for _ in range(3)] == [200, 200, 429]
    assert ask("/premium/a").status == 200
    wrong = [ask("/premium/a", x_licensing_key="svc_sk_nope") for _ in range(61)][-1]
    assert wrong.status_and_code == (429, "rate_limit_exceeded")
    assert ask("/premium/a").status == 200


def test_visitors_are_answered_above_the_plan(ask, site, small, clock):
    site(READERS)
    seen = [ask("/premium/a").headers for _ in range(6)]
    assert [(one["X-RateLimit-Limit"], one["X-RateLimit-Remaining"]) for one in seen] == [
        ("5", str(left)) for left in (4, 3, 2, 1, 0, 0)
    ]
    assert [ask("/premium/a").status for _ in range(12)] == [200] * 12
    assert [ask(uri).status for uri in ("/robots.txt", "/about")] == [200, 200]


def test_a_plan_includes_ten_times_its_requests(db):
    assert factories.account(plan="starter").edge_limits == (600, 100_000)
    assert factories.account(plan="professional").edge_limits == (3_000, 1_000_000)
    own = {"requests_per_minute": 7, "requests_per_day": 50}
    assert factories.account(plan="enterprise", **own).edge_limits == (70, 500)
    assert factories.account(plan="enterprise", **own, edge_requests_per_day=9).edge_limits == (70, 9)
