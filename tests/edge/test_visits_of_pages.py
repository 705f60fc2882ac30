import csv
from collections import Counter
from datetime import timedelta
from itertools import islice
from random import Random
from threading import Event, Thread
from time import sleep

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analytics.models import AccessEvent
from config import jobs
from licensing.visits import counting, retention, usage
from licensing.visits.models import EdgeUsage, Page, UsageKind, VisitsCounted
from tests import factories
from tests.edge.asking import READERS, count_all
from tests.lock_waits import late_copy

AGENTS = {"Mozilla/5.0": "anonymous", "GPTBot/1.0": "unverified:gptbot", "Googlebot/2.1": "unverified:googlebot"}
FOLDERS = ("/open/", "/watched/", "/closed/")
HOST = "https://pub.example"


@pytest.fixture
def site(account):
    """A site with open, closed, and observed pages."""
    return factories.site(
        account,
        {
            "/open/": factories.policy(account, READERS),
            "/closed/": factories.policy(account, factories.DENY_ALL),
            "/watched/": factories.policy(account, factories.DENY_ALL, mode="observe"),
        },
        host="pub.example",
    )


def numbers(shown):
    return {name: shown[name] for name in ("requests", "allowed", "observed", "denied")}


def by_url(rows):
    return {row["url"]: row["requests"] for row in rows}


@pytest.mark.parametrize("when", ["before they are counted", "counted in between", "once they are counted"])
def test_every_request_is_counted_once(ask, api, site, when):
    random, asked = Random(27), []
    for number in range(40):
        folder, page, agent = random.choice(FOLDERS), random.choice("abcd"), random.choice(list(AGENTS))
        reply = ask(f"{folder}{page}?utm={number}", user_agent=agent)
        outcome = "denied" if reply.status != 200 else "observed" if "X-Access-Would" in reply.headers else "allowed"
        asked.append((f"{HOST}{folder}{page}", outcome, AGENTS[agent]))
        if when == "counted in between" and number == 20:
            VisitsCounted.objects.create(pk=1, until=timezone.now() - timedelta(seconds=30))
            assert counting.count_stretch(counting.counted_until(), timezone.now())
    if when == "once they are counted":
        count_all()
        assert EdgeUsage.objects.exists()
    report = api.get("/v1/analytics/pages")
    outcomes = Counter(outcome for _, outcome, _ in asked)
    assert len(outcomes) == 3
    assert numbers(report["summary"]) == {"requests": 40, **outcomes}
    assert by_url(report["pages"]) == Counter(url for url, _, _ in asked)
    assert {one["id"]: one["requests"] for one in report["byCrawler"]} == Counter(who for *_, who in asked)
    assert by_url(report["folders"]) == {f"{HOST}/": 40}
    assert [numbers(one) for one in report["timeSeries"]] == [numbers(report["summary"])]
    for page in report["pages"]:
        visitors = {one["id"]: one["requests"] for one in page["visitors"]}
        assert visitors == Counter(who for url, _, who in asked if url == page["url"])


@pytest.mark.parametrize("counted", [False, True])
def test_reports_keep_the_requests_of_erased_and_merged_visitors(ask, api, site, counted):
    random, requests = Random(11), []
    for number in range(30):
        page, agent = f"/open/{random.choice('abc')}", random.choice(list(AGENTS))
        ask(page, user_agent=agent)
        requests.append((f"{HOST}{page}", AGENTS[agent]))
        if counted and number == 15:
            count_all()
            VisitsCounted.objects.update(until=timezone.now())
    assert api.delete("/v1/requesters/unverified:gptbot").status == 200
    assert api.post("/v1/requesters/unverified:googlebot/merge", {"into": "anonymous"}).status == 200
    if counted:
        count_all()
    report, visitors = api.get("/v1/analytics/pages"), api.get("/v1/analytics/visitors")["visitors"]
    numbers = sorted(Counter(visitor for _, visitor in requests).values())
    assert by_url(report["pages"]) == Counter(url for url, _ in requests)
    assert sorted(row["requests"] for row in report["byCrawler"]) == numbers
    assert sorted(visitor["allowed"] + visitor["denied"] for visitor in visitors) == numbers
    assert "gptbot" not in (report.content + api.get("/v1/analytics/visitors").content).decode().lower()


def test_a_crawler_is_shown_with_its_operator_and_in_the_file(ask, api, site):
    ask("/closed/a", user_agent="GPTBot/1.0")
    [crawler] = api.get("/v1/analytics/pages")["byCrawler"]
    shown = [crawler[name] for name in ("id", "operator", "crawlerClass", "identifiedBy", "verified", "denied")]
    assert shown == ["unverified:gptbot", "OpenAI", "ai_training", "user_agent", False, 1]
    file = api.get("/v1/analytics/pages", format="csv").content.decode()
    head, *rows = csv.reader(file.splitlines())
    columns = ["list", "requests", "allowed", "observed", "denied", "date", "id", "name", "operator", "crawlerClass"]
    assert head[: len(columns)] == columns
    assert [row[0] for row in rows] == ["summary", "timeSeries", "byCrawler", "folders", "pages"]
    assert f"{HOST}/closed/a" in ",".join(rows[-1])


@pytest.mark.parametrize("counted", [False, True])
def test_folders_lead_down_to_the_pages(ask, api, site, counted):
    for path in ("/open/news/a", "/open/news/b", "/open/news/2026/c", "/open/d", "/closed/e"):
        ask(path)
    if counted:
        count_all()

    def below(prefix):
        report = api.get("/v1/analytics/pages", **{"url[prefix]": f"{HOST}{prefix}"})
        return {url.removeprefix(HOST): number for url, number in by_url(report["folders"]).items()}

    assert below("/") == {"/open/": 4, "/closed/": 1}
    assert below("/open/") == {"/open/news/": 3, "/open/d": 1}
    assert below("/open/news/") == {"/open/news/a": 1, "/open/news/b": 1, "/open/news/2026/": 1}
    assert below("/OPEN/") == {}


def test_one_site_is_chosen_and_another_accounts_pages_are_not_shown(ask, api, account, site, other_api):
    other = factories.site(account, {"/": factories.policy(account, READERS)}, host="other.example")
    ask("/open/a")
    ask("/b", x_forwarded_host="other.example")
    for _ in range(2):
        assert by_url(api.get("/v1/analytics/pages", siteId=site.pk)["pages"]) == {f"{HOST}/open/a": 1}
        assert by_url(api.get("/v1/analytics/pages", siteId=other.pk)["pages"]) == {"https://other.example/b": 1}
        count_all()
    ask("/open/a")
    assert other_api.get("/v1/analytics/pages")["pages"] == []
    count_all()
    report = other_api.get("/v1/analytics/pages")
    assert (report["pages"], report["folders"], report["byCrawler"], report["timeSeries"]) == ([], [], [], [])
    assert other_api.get("/v1/analytics/pages", siteId=site.pk).error["param"] == "siteId"
    for query in [{"period": "ever"}, {"groupBy": "day"}, {"siteId": "site_x"}, {"url": "x"}]:
        assert api.get("/v1/analytics/pages", **query).status_and_param == (400, next(iter(query)))


def test_pages_beyond_the_bound_of_a_day_count_together(ask, api, site, monkeypatch):
    monkeypatch.setattr(usage, "MAX_PAGES", 3)
    for page in "ab":
        ask(f"/open/{page}")
    count_all()
    VisitsCounted.objects.update(until=AccessEvent.objects.order_by("-pk")[0].created + timedelta(microseconds=1))
    for page in "abcdefg":
        ask(f"/open/{page}")
    count_all()
    found = by_url(api.get("/v1/analytics/pages")["pages"])
    assert found == {f"{HOST}/open/a": 2, f"{HOST}/open/b": 2, f"{HOST}/open/c": 1, None: 4}
    assert api.get("/v1/analytics/pages")["summary"]["requests"] == 9


def test_a_very_long_url_is_counted(ask, api, site):
    ask(f"/open/{'x' * 4_000}")
    count_all()
    [page] = api.get("/v1/analytics/pages")["pages"]
    assert page["requests"] == 1
    assert Page.objects.count() == 1


def test_a_report_of_many_pages_takes_as_many_queries_as_one_of_few(ask, api, site):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            assert api.get("/v1/analytics/pages").status == 200
        return len(captured)

    def visit(pages):
        for number in range(pages):
            ask(f"/open/{number}", user_agent=list(AGENTS)[number % 3])

    visit(3)
    count_all()
    visit(3)
    queries()  # notes the use of the key
    few = queries()
    visit(30)
    VisitsCounted.objects.update(until=timezone.now() - timedelta(days=1))
    assert queries() == few + 1  # the robots.txt of the sites of visits that are not counted yet


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's commits wait for nothing")
@pytest.mark.django_db(transaction=True)
def test_a_visit_whose_commit_comes_minutes_later_is_counted(ask, api, site, monkeypatch):
    ask("/open/a")
    VisitsCounted.objects.create(pk=1, until=timezone.now() - timedelta(minutes=10))
    event, now = AccessEvent.objects.get(), timezone.now()
    with late_copy(event) as session:
        for clock in ("django.utils.timezone.now", "kit.storage.reading.database_time"):
            monkeypatch.setattr(clock, lambda: now + timedelta(minutes=5))
        counting.count_visits()
        session.commit()
    counting.count_visits()
    assert counting.counted_until() > event.created
    assert api.get("/v1/analytics/pages")["summary"]["requests"] == 2
    assert EdgeUsage.objects.exists()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="on SQLite all processes have one clock")
@pytest.mark.parametrize("report", ["pages", "visitors"])
def test_a_visit_counts_although_another_machines_clock_is_ahead(ask, api, site, monkeypatch, report):
    now = timezone.now()
    with monkeypatch.context() as ahead:
        ahead.setattr("django.utils.timezone.now", lambda: now + timedelta(minutes=10))
        counting.count_visits()
    ask("/open/a")
    counting.count_visits()
    assert '"allowed":1' in api.get(f"/v1/analytics/{report}").content.decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("report", ["pages", "crawlers", "visitors"])
def test_a_report_counts_every_request_once_while_others_count_them(ask, api, site, monkeypatch, report):
    monkeypatch.setattr(counting, "MAX_DECISIONS", 1)
    for number in range(60):
        ask(f"/closed/{number}", user_agent="GPTBot/1.0")
        sleep(0.001)  # another millisecond, so another step
    counting.count_visits()  # writes how far it has come
    began, counted = Event(), []

    def count_more(execute, sql, *arguments):
        """Count another request in another process's place after each query of the report."""
        found = execute(sql, *arguments)
        if "licensing_visitscounted" in sql:
            began.set()
        if began.is_set():
            thread = Thread(target=lambda: (counted.extend(islice(in_future(), 1)), connection.close()))
            thread.start()
            thread.join()
        return found

    def in_future():
        return counting.count_in_steps(timezone.now() + timedelta(minutes=2))

    with connection.execute_wrapper(count_more):
        found = api.get(f"/v1/analytics/{report}")
    assert 1 < len(counted) < 60
    shown = found["visitors"][0] if report == "visitors" else found["summary"]
    assert shown["denied"] == 60


def make_older(days):
    """Move the counts to this many days ago."""
    EdgeUsage.objects.filter(day=timezone.now().date()).update(day=timezone.now().date() - timedelta(days=days))


def test_old_counts_are_deleted_by_the_service_with_the_pages_that_have_no_others(
    ask, api, site, settings, monkeypatch
):
    settings.PAGE_RETENTION_DAYS = 20
    monkeypatch.setattr(retention, "CHUNK", 2)
    for page in "abcde":
        ask(f"/open/{page}")
    count_all()
    make_older(21)
    VisitsCounted.objects.update(until=timezone.now())
    ask("/open/a")
    ask("/open/f")
    count_all()
    make_older(20)
    VisitsCounted.objects.update(until=timezone.now())
    assert retention.purge_pages() == 5
    assert by_url(api.get("/v1/analytics/pages")["pages"]) == {f"{HOST}/open/a": 1, f"{HOST}/open/f": 1}
    assert set(Page.objects.values_list("url", flat=True)) == {f"{HOST}/open/a", f"{HOST}/open/f"}
    assert api.get("/v1/analytics/pages")["summary"]["requests"] == 7
    assert api.get("/v1/analytics/pages", siteId=site.pk)["summary"]["requests"] == 2
    assert retention.purge_pages() == 0
    assert retention.purge_pages in [job.act for job in jobs.SHARED_JOBS]


def test_old_referrals_of_pages_are_deleted_and_those_of_all_pages_stay(ask, api, site, settings):
    settings.PAGE_RETENTION_DAYS = 20
    for days in (21, 0):
        ask("/open/a", referer="https://chatgpt.com/")
        count_all()
        make_older(days)
        VisitsCounted.objects.update(until=timezone.now())
    assert retention.purge_pages() == 2
    assert [row.allowed for row in EdgeUsage.objects.filter(kind=UsageKind.REFERRER_OF_PAGE)] == [1]
    assert api.get("/v1/analytics/crawlers", siteId=site.pk)["summary"]["referrals"] == 1
    assert api.get("/v1/analytics/crawlers")["summary"]["referrals"] == 2
    assert retention.purge_pages() == 0


def test_a_page_is_counted_again_after_its_counts_were_deleted(ask, api, site, settings):
    ask("/open/a")
    count_all()
    make_older(settings.PAGE_RETENTION_DAYS + 1)
    VisitsCounted.objects.update(until=timezone.now())
    retention.purge_pages()
    ask("/open/a")
    count_all()
    assert by_url(api.get("/v1/analytics/pages")["pages"]) == {f"{HOST}/open/a": 1}
