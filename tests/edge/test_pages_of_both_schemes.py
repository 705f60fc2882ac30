from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from analytics.models import AccessEvent
from licensing.visits.models import Page
from tests import factories
from tests.edge.asking import READERS, count_all, event

PAGE = "https://pub.example/open/a"
PLAIN = "http://pub.example/open/a"
SENT = {"referer": "https://chatgpt.com/c/1"}
YESTERDAY = (timezone.now() - timedelta(days=1)).replace(hour=12, minute=0, second=0, microsecond=0)


@pytest.fixture
def site(account):
    return factories.site(account, {"/": factories.policy(account, READERS)}, host="pub.example", mode="observe")


def pages_of(api, **query):
    return [(row["url"], row["requests"]) for row in api.get("/v1/analytics/pages", **query)["pages"]]


def referrals_of(api, **query):
    return api.get("/v1/analytics/crawlers", **query)["summary"]["referrals"]


def record_as_before(reply):
    """Give a decision the URL that earlier versions recorded."""
    facts = {**event(reply).facts, "url": PLAIN}
    AccessEvent.objects.filter(pk=reply.headers["X-Access-Id"]).update(facts=facts)


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
