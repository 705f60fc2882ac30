"""http and https of an address are one page, in decisions and in counts by page."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from analytics.models import AccessEvent
from config import upkeep
from licensing.visits import counting, merging
from licensing.visits.models import Page, PageDay, ReferralDay
from licensing.visits.pages import digest_of
from tests import factories
from tests.edge.asking import READERS, event

PAGE = "https://pub.example/open/a"
PLAIN = "http://pub.example/open/a"
SENT = {"referer": "https://chatgpt.com/c/1"}
YESTERDAY = (timezone.now() - timedelta(days=1)).replace(hour=12, minute=0, second=0, microsecond=0)


@pytest.fixture
def site(account):
    return factories.site(account, {"/": factories.policy(account, READERS)}, host="pub.example", mode="observe")


def count_all():
    return list(counting.steps(timezone.now() + timedelta(minutes=2)))


def pages_of(api, **query):
    return [(row["url"], row["requests"]) for row in api.get("/v1/analytics/pages", **query)["pages"]]


def referrals_of(api, **query):
    return api.get("/v1/analytics/crawlers", **query)["summary"]["referrals"]


def record_as_before(reply):
    """Give a decision the URL that earlier versions recorded."""
    facts = {**event(reply).facts, "url": PLAIN}
    AccessEvent.objects.filter(pk=reply.headers["X-Access-Id"]).update(facts=facts)


def count_as_before(account, site, requester, *, day, violations=0, url=PLAIN, **numbers):
    """Add the rows of a page that earlier versions counted under http."""
    page, _ = Page.objects.get_or_create(account=account, digest=digest_of(url), defaults={"url": url, "site": site})
    seen = timezone.now() - timedelta(days=2)
    counts = {"allowed": 0, "observed": 0, "denied": 0, "last_seen": seen, **numbers}
    PageDay.objects.create(account=account, day=day, page=page, requester=requester, identified_by="nothing",
                           violations=violations, **counts)  # fmt: skip
    ReferralDay.objects.create(account=account, day=day, page=page, host="chatgpt.com", referrals=3)


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("recorded_before", [False, True])
def test_live_requests_of_both_schemes_are_one_page(ask, api, site, counted, recorded_before):
    ask("/open/a", **SENT)
    reply = ask("/open/a", x_forwarded_proto="http", **SENT)
    assert event(reply).facts["url"] == PAGE
    if recorded_before:
        record_as_before(reply)
    if counted:
        count_all()
        assert [page.url for page in Page.objects.all()] == [PAGE]
    for prefix in ("", "https://pub.example/open/", "http://pub.example/open/", "http:"):
        assert pages_of(api, **{"url[prefix]": prefix}) == [(PAGE, 2)]
        assert referrals_of(api, **{"url[prefix]": prefix}) == 2
    folders = api.get("/v1/analytics/pages", **{"url[prefix]": "http://pub.example/"})["folders"]
    assert [(row["url"], row["requests"]) for row in folders] == [("https://pub.example/open/", 2)]


def test_an_imported_log_counts_on_the_same_page(ask, api, account, site, tmp_path):
    log = tmp_path / "access.log"
    log.write_text("".join(
        f'203.0.113.9 - - [{YESTERDAY:%d/%b/%Y:%H:%M:%S} +0000] "GET {target} HTTP/1.1" 200 12 "-" "Mozilla/5.0"\n'
        for target in ("/open/a", PLAIN, PAGE)
    ))  # fmt: skip
    call_command("import_access_log", str(log), "--site", "pub.example", stdout=StringIO(), stderr=StringIO())
    ask("/open/a", x_forwarded_proto="http")
    count_all()
    assert pages_of(api) == [(PAGE, 4)]


@pytest.mark.parametrize("recorded_before", [False, True])
@pytest.mark.parametrize("name", ["url", "url[in]", "url[prefix]"])
def test_decisions_are_found_by_either_scheme(ask, api, site, name, recorded_before):
    replies = [ask("/open/a"), ask("/open/a", x_forwarded_proto="http")]
    if recorded_before:
        record_as_before(replies[1])
    made = {reply.headers["X-Access-Id"] for reply in replies}
    for url in (PAGE, PLAIN):
        assert {row["id"] for row in api.get("/v1/access/decisions", **{name: url})["data"]} == made
    assert api.get("/v1/access/decisions", **{name: "http://pub.example/open/b"})["data"] == []


def test_counts_of_earlier_versions_are_merged(ask, api, account, site, monkeypatch):
    monkeypatch.setattr(merging, "CHUNK", 2)
    ask("/open/a", **SENT)
    count_all()
    counted = PageDay.objects.get()
    today, who = counted.day, counted.requester
    for days, denied in enumerate((4, 2, 1)):
        count_as_before(account, site, who, day=today - timedelta(days=days), denied=denied, violations=denied)
    count_as_before(account, site, who, day=today, allowed=5, url="http://pub.example/open/b")
    assert merging.merge_http_pages() == 2
    assert pages_of(api) == [(PAGE, 8), ("https://pub.example/open/b", 5)]
    assert set(Page.objects.values_list("url", "site")) == {(PAGE, site.pk), ("https://pub.example/open/b", site.pk)}
    rows = PageDay.objects.filter(page__url=PAGE).order_by("-day")
    assert [(row.visits.total, row.violations) for row in rows] == [(5, 4), (2, 2), (1, 1)]
    assert PageDay.objects.get(page__url=PAGE, day=today).last_seen == counted.last_seen
    assert list(ReferralDay.objects.order_by("page__url", "-day").values_list("referrals", flat=True)) == [4, 3, 3, 3]
    assert merging.merge_http_pages() == 0
    assert pages_of(api) == [(PAGE, 8), ("https://pub.example/open/b", 5)]


def test_a_merge_that_broke_off_continues_and_old_processes_may_count_again(ask, api, account, site, monkeypatch):
    monkeypatch.setattr(merging, "CHUNK", 1)
    ask("/open/a")
    count_all()
    today, who = PageDay.objects.get().day, PageDay.objects.get().requester
    for days in range(4):
        count_as_before(account, site, who, day=today - timedelta(days=days), allowed=1)
    original, calls = merging.add_visits, []

    def breaks(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise RuntimeError
        original(*arguments)

    monkeypatch.setattr(merging, "add_visits", breaks)
    with pytest.raises(RuntimeError):
        merging.merge_http_pages()
    assert api.get("/v1/analytics/pages")["summary"]["requests"] == 5
    merging.merge_http_pages()
    count_as_before(account, site, who, day=today, allowed=2)
    merging.merge_http_pages()
    assert pages_of(api) == [(PAGE, 7)]
    assert Page.objects.count() == 1


def test_counts_of_other_accounts_are_merged_apart_by_the_upkeep(ask, api, other_api, account, other_account, site):
    who = factories.requester(other_account)
    count_as_before(other_account, None, who, day=timezone.now().date(), allowed=1)
    ask("/open/a")
    count_all()
    merging.merge_http_pages()
    assert pages_of(api) == pages_of(other_api) == [(PAGE, 1)]
    assert merging.merge_http_pages in [job.act for job in upkeep.SHARED_JOBS]
