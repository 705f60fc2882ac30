from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.utils import timezone

from analytics.models import AccessEvent
from analytics.windows import USAGE
from kit.values import ids
from licensing.account_deletion import delete_account
from licensing.visits import counting
from licensing.visits.models import EdgeUsage, UsageKind, VisitsCounted
from licensing.visits.reading import Usage, VisitSelection
from licensing.visits.report import visitor_report
from tests import factories
from tests.edge.asking import READERS, count_all
from tests.edge.tokens import ask_token, published

AGENTS = ["Mozilla/5.0", "GPTBot/1.0", "Googlebot/2.1"]


def report(*accounts, **query):
    window = USAGE.parse(query, timezone.now(), lambda: None)
    return visitor_report(Usage(VisitSelection([account.pk for account in accounts], window)))


def shown(found):
    """Return requester, identification and counts of each visitor."""
    return {
        (one.requester.requester_id, one.identified_by.value): (
            one.visits.allowed, one.visits.observed, one.visits.denied
        )
        for one in found.visitors
    }  # fmt: skip


@pytest.fixture
def mixed(account):
    """A site with open, closed, and observed pages."""
    factories.site(
        account,
        {
            "/open/": factories.policy(account, READERS),
            "/closed/": factories.policy(account, factories.DENY_ALL),
            "/watched/": factories.policy(account, factories.DENY_ALL, mode="observe"),
        },
        host="pub.example",
    )


OUTCOMES = {"/open/a": 0, "/watched/a": 1, "/closed/a": 2}


@pytest.mark.parametrize("when", ["before they are counted", "counted in between", "once they are counted"])
def test_every_visit_is_counted_once(ask, account, mixed, when):
    random, expected = Random(7), {}
    for number in range(30):
        page, agent = random.choice(list(OUTCOMES)), random.choice(AGENTS)
        reply = ask(page, user_agent=agent)
        place = 2 if reply.status != 200 else 1 if "X-Access-Would" in reply.headers else 0
        expected.setdefault(reply.headers["X-Access-Requester"], Counter())[place] += 1
        if when == "counted in between" and number == 15:
            # As if the following requests came after the counted period.
            VisitsCounted.objects.create(pk=1, until=timezone.now() - timedelta(seconds=30))
            assert counting.count_stretch(counting.counted_until(), timezone.now())
    if when == "once they are counted":
        count_all()
        assert EdgeUsage.objects.exists()
    found = shown(report(account))
    assert {who: counts for (who, _), counts in found.items()} == {
        who: tuple(counts[place] for place in range(3)) for who, counts in expected.items()
    }


def test_a_step_with_many_visits_is_divided(ask, account, mixed, monkeypatch):
    monkeypatch.setattr(counting, "MAX_DECISIONS", 3)
    for _ in range(20):
        ask("/open/a")
    assert len(count_all()) > 1
    assert EdgeUsage.objects.get(kind=UsageKind.VISITOR).allowed == 20


def test_visits_are_grouped_by_the_kind_of_identification(ask, account, mixed):
    ask("/open/a")
    ask("/open/a", user_agent="GPTBot/1.0")
    own, text = factories.api_key(account)
    ask("/open/a", authorization=f"Bearer {text}")
    factories.license(account)
    client = factories.license_client(account)
    asked = {"resource": "https://pub.example/open/*", "license": published("/open/*")[0]}
    token = ask_token(*client, **asked).json()["access_token"]
    ask("/open/a", authorization=f"License {token}")
    assert set(shown(report(account))) == {
        ("anonymous", "nothing"), ("unverified:gptbot", "user_agent"), (own.pk, "api_key"),
        ("org_acme", "license_token"),
    }  # fmt: skip


def test_the_classes_are_those_of_the_crawlers(ask, account, mixed):
    for agent in AGENTS:
        ask("/open/a", user_agent=agent)
    told = [(one, by.value, visits.allowed + visits.denied) for one, by, visits in report(account).classes]
    assert told == [("ai_training", "user_agent", 1), ("search", "user_agent", 1), ("other", "nothing", 1)]


def test_only_visits_of_the_account_in_the_period_are_shown(ask, account, other_account, mixed):
    ask("/open/a")
    assert report(other_account).visitors == []
    count_all()
    assert report(other_account).visitors == []
    day = (datetime.now(UTC) - timedelta(days=40)).date()
    EdgeUsage.objects.update(day=day)
    assert report(account).visitors == []
    assert shown(report(account, period="90d")) == {("anonymous", "nothing"): (1, 0, 0)}


def test_visits_are_counted_only_once(ask, account, mixed):
    ask("/open/a")
    assert count_all()
    begin = counting.counted_until() - counting.STEP
    assert not counting.count_stretch(begin, timezone.now() + timedelta(hours=1))  # somebody else was first
    ask("/open/a")
    VisitsCounted.objects.update(until=AccessEvent.objects.order_by("-pk")[0].created)
    count_all()
    assert shown(report(account)) == {("anonymous", "nothing"): (2, 0, 0)}


def test_the_api_reports_visitors(ask, api, account, mixed):
    for page in OUTCOMES:
        ask(page, user_agent="GPTBot/1.0")
    count_all()
    shown = api.get("/v1/analytics/visitors")
    counts = {"allowed": 0, "observed": 1, "denied": 2}
    about = {"crawlerClass": "ai_training", "identifiedBy": "user_agent", "verified": False}
    [visitor], [by_class] = shown["visitors"], shown["byClass"]
    last = visitor["lastSeen"]
    assert visitor == {
        "id": "unverified:gptbot", "name": "GPTBot (unverified)", **about, **counts, "lastSeen": last
    }  # fmt: skip
    assert by_class == {**about, **counts, "lastSeen": last}
    assert (shown["total"], shown["endDate"][:10]) == (1, last[:10])
    other = factories.site(account, host="other.example")
    site_id = api.get("/v1/sites?host=pub.example")["data"][0]["id"]
    of_sites = [api.get(f"/v1/analytics/visitors?siteId={one}")["total"] for one in (site_id, other.pk)]
    assert of_sites == [1, 0]
    assert api.get("/v1/analytics/visitors?siteId=site_none").status_and_param == (400, "siteId")


def test_it_is_of_whole_days(ask, api, mixed):
    ask("/open/a")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    shown = api.get("/v1/analytics/visitors", startDate=f"{today}T23:59:00Z", endDate=f"{today}T23:59:30Z")
    assert (shown["startDate"], shown["endDate"]) == (f"{today}T00:00:00.000000Z", f"{today}T23:59:59.999999Z")
    assert shown["total"] == 1


def test_invalid_queries_are_refused_by_name(api, account):
    for query in [{"period": "ever"}, {"startDate": "yesterday"}, {"groupBy": "day"}]:
        assert api.get("/v1/analytics/visitors", **query).status_and_param == (400, next(iter(query)))
    assert api.get("/v1/analytics/visitors?period=30d&endDate=1749-11-13")["total"] == 0
    item = factories.content(account, policy_id=factories.policy(account).pk)
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    count_all()
    assert not EdgeUsage.objects.exists()
    assert report(account).visitors == []


def test_a_report_takes_few_queries_however_many_visits(ask, account, mixed, django_assert_max_num_queries):
    for agent in AGENTS * 3:
        ask("/open/a", user_agent=agent)
    count_all()
    ask("/open/a")
    with django_assert_max_num_queries(8):
        report(account)


@pytest.mark.django_db(transaction=True)
def test_decisions_of_an_account_that_is_gone_keep_no_visits_from_being_counted(ask, account, other_account, mixed):
    ask("/open/a")
    left = AccessEvent.objects.get()
    left.account, left.pk = other_account, ids.new_id("dec")
    delete_account(other_account)
    left.save(force_insert=True)
    count_all()
    assert list(EdgeUsage.objects.filter(kind=UsageKind.VISITOR).values_list("account", "allowed")) == [
        (account.pk, 1)
    ]
