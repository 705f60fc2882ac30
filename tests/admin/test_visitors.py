import html
import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from licensing.edge.verification.models import AddressList
from licensing.requesters.models import Requester
from licensing.visits.models import EdgeUsage, Page, UsageKind
from licensing.visits.pages import url_digest
from operators.catalogue import crawls as crawls_module
from tests import factories

PAGE = reverse("admin:visitors")


@pytest.fixture
def visits(account):
    """Visit counts of one visitor: allowed, observed and denied."""

    def make(requester_id, identified_by, counts, *, days=0, owner=account, name=None):
        requester, _ = Requester.objects.get_or_create(
            account=owner, requester_id=requester_id, defaults={"name": name}
        )
        now = timezone.now()
        return EdgeUsage.objects.create(
            account=owner, kind=UsageKind.VISITOR, day=(now - timedelta(days=days)).date(), page_id=0,
            requester=requester, identified_by=identified_by, allowed=counts[0], observed=counts[1], denied=counts[2],
            violations=0, last_seen=now - timedelta(days=days),
        )  # fmt: skip

    return make


def rows_of(client, **query):
    """Return the cells of each row of each table."""
    reply = client.get(PAGE, query)
    assert reply.status_code == 200
    rows = re.findall(r"<tr>(.*?)</tr>", reply.content.decode(), re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[html.unescape(" ".join(strip_tags(cell).split())) for cell in row] for row in cells]


def test_the_page_shows_visitors_verification_and_outcomes(admin, visits):
    visits("crawler:gptbot", "address", (5, 0, 1), name="GPTBot")
    visits("crawler:gptbot", "address", (2, 0, 0), days=3)
    visits("unverified:gptbot", "user_agent", (0, 4, 1200), name="GPTBot (unverified)")
    visits("anonymous", "nothing", (9, 0, 0))
    rows = rows_of(admin)
    today = f"{timezone.now():%Y-%m-%d}"
    assert ["AI training", "published address", "7", "0", "1"] in rows
    assert ["AI training", "User-Agent alone not verified", "0", "4", "1,200"] in rows
    assert ["Others", "nothing not verified", "9", "0", "0"] in rows
    [crawler] = [row for row in rows if row[0] == "GPTBot crawler:gptbot"]
    assert crawler[1:6] == ["AI training", "published address", "7", "0", "1"]
    assert crawler[6].startswith(today)


def test_each_count_leads_to_its_decisions(admin, visits):
    requester = visits("unverified:gptbot", "user_agent", (0, 4, 2)).requester
    page = html.unescape(admin.get(PAGE).content.decode())
    since = f"{timezone.now() - timedelta(days=29):%Y-%m-%d}"
    for outcome in ("observed", "denied"):
        link = re.search(rf'href="([^"]*outcome={outcome}[^"]*)"', page).group(1)
        assert f"requester__id__exact={requester.pk}" in link
        assert f"created_from_0={since}" in link
        assert admin.get(link).status_code == 200
    assert "outcome=allowed" not in page  # there are none


def test_the_period_is_chosen(admin, visits):
    visits("anonymous", "nothing", (3, 0, 0), days=60)
    assert rows_of(admin) == []
    assert "No visitors" in admin.get(PAGE).content.decode()
    assert ["Others", "nothing not verified", "3", "0", "0"] in rows_of(admin, period="90d")
    assert "There is no such period" in admin.get(PAGE, {"period": "ever"}).content.decode()


def test_one_account_is_chosen_within_those_that_an_operator_may_see(
    admin, account, other_account, visits, staff, sign_in
):
    visits("anonymous", "nothing", (3, 0, 0))
    visits("anonymous", "nothing", (4, 0, 0), owner=other_account)
    assert ["Others", "nothing not verified", "7", "0", "0"] in rows_of(admin)
    assert ["Others", "nothing not verified", "4", "0", "0"] in rows_of(admin, account=other_account.pk)
    eve = sign_in(staff("analytics.view_accessevent", accounts=[account]))
    assert ["Others", "nothing not verified", "3", "0", "0"] in rows_of(eve)
    assert rows_of(eve, account=other_account.pk) == []


def test_the_page_requires_permission_to_see_decisions(staff, sign_in, account):
    eve = sign_in(staff("licensing.view_site", accounts=[account]))
    assert eve.get(PAGE).status_code == 403
    assert PAGE not in eve.get(reverse("admin:index")).content.decode()


def test_it_takes_few_queries_and_shows_those_with_most(admin, account, visits, django_assert_max_num_queries):
    for number in range(150):
        visits(f"org_{number}", "license_token", (number + 1, 0, 0))
    with django_assert_max_num_queries(24):
        page = admin.get(PAGE).content.decode()
    assert "And 50 more with fewer visits" in page
    assert "org_149" in page


def test_address_lists_show_their_age_or_the_setting_that_fetches_them(admin, settings):
    assert "Set CRAWLER_LISTS=on" in admin.get(PAGE).content.decode()
    settings.CRAWLER_LISTS = True
    now = timezone.now()
    url = "https://openai.com/gptbot.json"
    AddressList.objects.create(
        url=url, ranges=["192.0.2.0/24"], fetched_at=now - timedelta(days=2), failed_at=now - timedelta(minutes=5),
        failure="It answered 503.",
    )  # fmt: skip
    rows = [[cell.replace("\xa0", " ") for cell in row] for row in rows_of(admin)]
    assert ["GPTBot", url, "1", "2 days ago", "5 minutes ago: It answered 503."] == rows[1]
    assert ["PerplexityBot", "https://www.perplexity.com/perplexitybot.json", "0", "not fetched yet", ""] in rows


@pytest.fixture
def crawls(account):
    """Record two days of requests by crawlers, and readers referred by their operators."""
    today = timezone.now().date()
    site = factories.site(account, host="pub.example")

    def took(requester_id, path, counts, *, by="address", days=0, violations=0):
        requester, _ = Requester.objects.get_or_create(account=account, requester_id=requester_id)
        url = f"https://pub.example{path}"
        page = Page.objects.create(account=account, digest=url_digest(url), url=url, site=site)
        for kind, number in ((UsageKind.VISITOR, 0), (UsageKind.VISITOR_OF_PAGE, page.pk)):
            EdgeUsage.objects.create(
                account=account, kind=kind, day=today - timedelta(days=days), page_id=number, requester=requester,
                identified_by=by, allowed=counts[0], observed=counts[1], denied=counts[2], violations=violations,
                last_seen=timezone.now(),
            )  # fmt: skip

    took("crawler:gptbot", "/premium/a", (5, 0, 2), violations=3)
    took("unverified:gptbot", "/premium/deep/b", (0, 4, 0), by="user_agent", days=1)
    took("crawler:googlebot", "/about", (1_200, 0, 0))
    for host, number in (("chatgpt.com", 4), ("google.*", 3)):
        EdgeUsage.objects.create(
            account=account, kind=UsageKind.REFERRER, day=today, page_id=0, requester_id=0, referrer=host,
            allowed=number, observed=0, denied=0, violations=0, last_seen=timezone.now(),
        )  # fmt: skip
    return site


def test_pages_referrals_and_days_of_crawlers_are_shown(admin, crawls):
    rows = rows_of(admin)
    assert ["Google", "1,200", "1,200", "0", "3", "400.00", "", ""] in rows
    assert ["OpenAI", "11", "7", "3", "4", "2.75", "", ""] in rows
    rows, today = rows_of(admin, period="7d"), timezone.now()
    assert ["Day (UTC)", "AI training", "Search", "Total"] in rows
    assert [f"{today:%Y-%m-%d}", "7", "1,200", "1,207"] in rows
    assert [f"{today - timedelta(days=1):%Y-%m-%d}", "4", "0", "4"] in rows
    assert len([row for row in rows if re.fullmatch(r"\d{4}-\d\d-\d\d", row[0])]) == 7


def test_the_table_of_operators_is_a_file_without_money_for_those_who_may_not_see_it(
    staff, sign_in, admin, account, crawls
):
    def lines(client):
        reply = client.get(PAGE, {"download": "operators"})
        assert reply.headers["Content-Disposition"] == 'attachment; filename="operators.csv"'
        return reply.content.decode("utf-8-sig").splitlines()

    assert lines(admin)[:2] == [
        '"operator","requests","verified","violations","referrals","crawlsPerReferral","revenue","revenueAtStake"',
        '"Google",1200,1200,0,3,400.00,,',
    ]
    eve = sign_in(staff("analytics.view_accessevent", accounts=[account]))
    assert lines(eve)[2] == '"OpenAI",11,7,3,4,2.75'
    assert "At stake" not in eve.get(PAGE).content.decode()


def test_pages_are_opened_folder_by_folder(admin, crawls):
    def links(**query):
        page = html.unescape(admin.get(PAGE, query).content.decode())
        return dict(re.findall(r'<a href="\?([^"]*below=[^"]*)">([^<]*)</a>', page))

    for folder, row in (
        ("https://pub.example/", ["https://pub.example/premium/", "5", "4", "2"]),
        ("https://pub.example/premium/", ["https://pub.example/premium/deep/", "0", "4", "0"]),
    ):
        assert row in rows_of(admin, below=folder)
        [link] = [query for query, text in links(below=folder).items() if text == row[0]]
        assert admin.get(f"{PAGE}?{link}").status_code == 200
    deep = "https://pub.example/premium/deep/"
    assert [f"{deep}b", "0", "4", "0"] in rows_of(admin, below=deep)
    assert "No visits below this folder" in admin.get(PAGE, {"below": "https://elsewhere.example/"}).content.decode()


def test_the_chart_is_grouped_and_adds_up_what_is_beyond_the_first(admin, crawls, monkeypatch):
    for by, columns, today in (
        ("class", ["AI training", "Search"], ["7", "1,200"]),
        ("operator", ["Google", "OpenAI"], ["1,200", "7"]),
        ("crawler", ["Googlebot", "GPTBot"], ["1,200", "7"]),
        ("nonsense", ["AI training", "Search"], ["7", "1,200"]),
    ):
        rows = rows_of(admin, by=by)
        assert ["Day (UTC)", *columns, "Total"] in rows
        assert [f"{timezone.now():%Y-%m-%d}", *today, "1,207"] in rows
        shown = admin.get(PAGE, {"by": by}).content.decode()
        assert re.findall(r'aria-current="true">by (\w+)<', shown) == ["class" if by == "nonsense" else by]

    monkeypatch.setattr(crawls_module, "COLOURS", ["orange"])
    rows = rows_of(admin, by="operator")
    assert ["Day (UTC)", "Google", "Others", "Total"] in rows
    assert [f"{timezone.now():%Y-%m-%d}", "1,200", "7", "1,207"] in rows


def test_the_reports_of_the_page_share_one_reading(admin, visits, django_assert_max_num_queries):
    """Otherwise a visit that is counted in between is in one report and not in the others."""
    visits("crawler:gptbot", "address", (5, 0, 1))
    for below in ("", "https://pub.example/"):
        with django_assert_max_num_queries(20) as queries:
            assert admin.get(PAGE, {"below": below}).status_code == 200
        readings = [query["sql"] for query in queries.captured_queries if '"licensing_visitscounted"' in query["sql"]]
        assert len(readings) == 1
