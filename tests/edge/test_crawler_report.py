import csv
from collections import Counter
from datetime import timedelta
from random import Random

import pytest
from django.utils import timezone

from licensing.visits import counting
from licensing.visits.models import EdgeUsage, VisitsCounted
from tests import factories
from tests.edge.asking import READERS, count_all, event

HOST = "https://pub.example"
BROWSER, GOOGLE = "Mozilla/5.0", "66.249.66.1"
CRAWLERS = {
    "GPTBot/1.0": ("GPTBot", "OpenAI", "ai_training"),
    "ChatGPT-User/1.0": ("ChatGPT-User", "OpenAI", "ai_input"),
    "Googlebot/2.1": ("Googlebot", "Google", "search"),
}
REFERERS = {
    "https://chatgpt.com/c/1?private=yes": ("chatgpt.com", "OpenAI"),
    "https://www.google.de/search?q=secret": ("google.*", "Google"),
    "https://gemini.google.com/": ("gemini.google.com", "Google"),
    "https://www.perplexity.ai/": ("perplexity.ai", "Perplexity"),
    "https://neighbour.example/blog": None,
    "https://pub.example/open/a": None,
    "not a url": None,
}
ROBOTS = """
User-agent: GPTBot
Disallow: /open/
Allow: /open/a$

User-agent: *
Disallow: /*/b
"""
PRICE = {"action": "allow", "priority": 1, "conditions": {"licenseType": "crawl"}, "permissions": ["full_access"]}


def is_violation(agent, path):
    """Whether the access violates ROBOTS."""
    if agent.startswith("GPTBot"):
        return path.startswith("/open/") and path != "/open/a"
    return path.endswith("/b")


@pytest.fixture
def site(account):
    sold = {**PRICE, "pricePerAccess": {"amount": 0.5, "currency": "USD"}}
    return factories.site(
        account,
        {
            "/open/": factories.policy(account, {**READERS, "permissions": ["full_access"]}),
            "/closed/": factories.policy(account, factories.DENY_ALL),
            "/watched/": factories.policy(account, sold, factories.DENY_ALL, mode="observe"),
        },
        host="pub.example",
        robots_txt=ROBOTS,
    )


@pytest.mark.parametrize("when", ["before they are counted", "counted in between", "once they are counted"])
def test_every_figure_equals_a_count_of_the_raw_requests(ask, api, site, dns, when):
    dns[GOOGLE] = "crawl-66-249-66-1.googlebot.com"
    random, crawls, sent = Random(27), [], []
    for number in range(90):
        path = f"/{random.choice(['open', 'watched', 'closed'])}/{random.choice('ab')}"
        if random.random() < 0.6:
            agent = random.choice(list(CRAWLERS))
            # A crawler's Referer counts for nothing. Only Googlebot proves who it is.
            address = GOOGLE if agent.startswith("Googlebot") else "203.0.113.9"
            reply = ask(path, user_agent=agent, x_forwarded_for=address, referer="https://chatgpt.com/")
            outcome = (
                "denied" if reply.status != 200 else "observed" if "X-Access-Would" in reply.headers else "allowed"
            )
            crawls.append((agent, path, outcome))
        else:
            referer = random.choice(list(REFERERS))
            ask(path, referer=referer)
            sent += [REFERERS[referer]] if REFERERS[referer] else []
        if when == "counted in between" and number == 50:
            VisitsCounted.objects.create(pk=1, until=timezone.now() - timedelta(seconds=30))
            assert counting.count_stretch(counting.counted_until(), timezone.now())
    if when == "once they are counted":
        count_all()
        assert EdgeUsage.objects.exists()
    report = api.get("/v1/analytics/crawlers", by="crawler")

    def numbers(rows):
        made = Counter(outcome for *_, outcome in rows)
        return {
            "requests": len(rows), **{name: made[name] for name in ("allowed", "observed", "denied")},
            "verified": sum(agent.startswith("Googlebot") for agent, *_ in rows),
            "violations": sum(is_violation(agent, path) for agent, path, _ in rows),
            "stake": 0.5 * sum(agent.startswith("Googlebot") and outcome == "observed" for agent, _, outcome in rows),
        }  # fmt: skip

    def shown(row):
        stake = sum(one["amount"] for one in row["revenueAtStake"])
        return {**{name: row[name] for name in list(numbers([]))[:-1]}, "stake": stake}

    assert shown(report["summary"]) == numbers(crawls)
    assert report["summary"]["violations"] > 0
    assert report["summary"]["referrals"] == len(sent) > 0
    for row in report["byCrawler"]:
        own = [one for one in crawls if CRAWLERS[one[0]][0] == row["name"]]
        assert (shown(row), row["operator"]) == (numbers(own), CRAWLERS[own[0][0]][1])
    for row in report["byClass"]:
        assert shown(row) == numbers([one for one in crawls if CRAWLERS[one[0]][2] == row["crawlerClass"]])
    assert {row["operator"] for row in report["byOperator"]} == {"OpenAI", "Google", "Perplexity"}
    for row in report["byOperator"]:
        own = [one for one in crawls if CRAWLERS[one[0]][1] == row["operator"]]
        readers = sum(operator == row["operator"] for _, operator in sent)
        assert (shown(row), row["referrals"]) == (numbers(own), readers)
        assert row["crawlsPerReferral"] == round(len(own) / readers, 2)
    assert {row["host"]: row["referrals"] for row in report["referrers"]} == Counter(host for host, _ in sent)
    by_name = {row["name"]: row for row in report["timeSeries"]}
    for row in report["byCrawler"]:
        assert by_name[row["name"]]["requests"] == row["requests"]


def test_the_series_is_divided_as_requested(ask, api, site):
    for by in ["class", "operator", "crawler"]:
        ask("/open/a", user_agent="GPTBot/1.0")
        [day] = api.get("/v1/analytics/crawlers", by=by)["timeSeries"]
        assert day["name"] == {"class": "ai_training", "operator": "OpenAI", "crawler": "GPTBot"}[by]
    for query in [{"by": "day"}, {"siteId": "site_x"}, {"period": "ever"}]:
        assert api.get("/v1/analytics/crawlers", **query).status_and_param == (400, next(iter(query)))


def test_a_site_or_folder_is_chosen(ask, api, account, site):
    policy = factories.policy(account, {**READERS, "permissions": ["full_access"]})
    other = factories.site(account, {"/": policy}, host="other.example")
    ask("/open/a", user_agent="GPTBot/1.0")
    ask("/open/a", referer="https://claude.ai/")
    ask("/x", x_forwarded_host="other.example", user_agent="GPTBot/1.0")

    def shown(**query):
        summary = api.get("/v1/analytics/crawlers", **query)["summary"]
        return summary["requests"], summary["referrals"]

    for _ in range(2):
        assert shown(siteId=other.pk) == shown(**{"url[prefix]": "https://other.example/"}) == (1, 0)
        assert shown(siteId=site.pk) == shown(**{"url[prefix]": f"{HOST}/open/"}) == (1, 1)
        count_all()


def test_only_the_host_of_the_referer_is_recorded(ask, api, site):
    reply = ask("/open/a", referer="https://user:password@chatgpt.com:8443/c/1?private=yes")
    assert "referrer" not in event(reply).facts
    reply = ask("/open/a", referer="https://ChatGPT.com:8443/c/1?private=yes")
    assert event(reply).facts["referrer"] == "chatgpt.com"
    decision = api.get(f"/v1/access/decisions/{reply.headers['X-Access-Id']}")
    assert (decision["referrer"], decision["imported"]) == ("chatgpt.com", False)
    assert api.get("/v1/access/decisions", referrer="chatgpt.com")["totalCount"] == 1
    assert api.get("/v1/access/decisions", referrer="claude.ai")["totalCount"] == 0


def test_programs_with_signs_of_a_crawler_are_no_readers_whom_a_service_sends(ask, api, site):
    agents = {
        "SuperNew/0.1 (+https://new.example)": 0,
        "UptimeRobot/2.0": 0,
        "Mozilla/5.0 (X11; rv:130.0) Firefox/130": 1,
    }
    for agent, readers in agents.items():
        facts = event(ask("/open/a", user_agent=agent, referer="https://chatgpt.com/")).facts
        assert (facts["userAgent"], "referrer" in facts) == (agent, bool(readers))
    assert api.get("/v1/analytics/crawlers")["summary"]["referrals"] == 1


def test_a_paid_crawl_is_revenue_of_its_operator(ask, api, account, site, crawler_table):
    crawler_table(
        {"name": "Payer", "class": "ai_training", "operator": "Example AI", "userAgent": "Payer",
         "addresses": ["203.0.113.0/24"]}
    )  # fmt: skip
    sold = {**PRICE, "pricePerAccess": {"amount": 0.25, "currency": "USD"}}
    factories.site(account, {"/": factories.policy(account, sold)}, host="paid.example")
    for _ in range(2):
        ask("/x", x_forwarded_host="paid.example", user_agent="Payer/1.0", crawler_exact_price="USD 0.25")
    [operator] = api.get("/v1/analytics/crawlers")["byOperator"]
    assert (operator["operator"], operator["verified"]) == ("Example AI", 2)
    assert operator["revenue"] == [{"amount": 0.5, "currency": "USD"}]
    for query in ({"siteId": site.pk}, {"url[prefix]": f"{HOST}/"}):
        assert api.get("/v1/analytics/crawlers", **query)["summary"]["revenue"] == []


def test_another_accounts_figures_are_not_shown(ask, other_api, site, api):
    ask("/open/b", user_agent="GPTBot/1.0")
    ask("/open/b", referer="https://chatgpt.com/")
    for _ in range(2):
        report = other_api.get("/v1/analytics/crawlers")
        assert (report["byCrawler"], report["byOperator"], report["referrers"]) == ([], [], [])
        count_all()
    text = api.get("/v1/analytics/crawlers", format="csv").content.decode()
    lists = [row[0] for row in csv.reader(text.splitlines())]
    assert Counter(lists) == dict.fromkeys(
        ["list", "summary", "timeSeries", "byClass", "byOperator", "byCrawler", "referrers"], 1
    )
