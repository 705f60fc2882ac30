from random import Random

import pytest
from django.utils import timezone

from config import jobs
from licensing.visits import former_counts
from licensing.visits.models import EdgeUsage, Page, PageDay, ReferralDay, UsageKind, VisitorDay, VisitsCounted
from licensing.visits.pages import url_digest
from tests import factories
from tests.edge.asking import READERS, count_all

HOST = "https://pub.example"
AGENTS = ["Mozilla/5.0", "GPTBot/1.0", "Googlebot/2.1"]
REFERERS = ["https://chatgpt.com/c/1", "https://www.google.de/", "https://neighbour.example/"]
ROBOTS = "User-agent: GPTBot\nDisallow: /open/a"
REPORTS = [
    ("visitors", {}),
    ("pages", {}),
    ("pages", {"url[prefix]": f"{HOST}/open/"}),
    ("crawlers", {"by": "crawler"}),
    ("crawlers", {"url[prefix]": f"{HOST}/open/"}),
]
COUNTS = ("allowed", "observed", "denied", "last_seen")


@pytest.fixture
def site(account):
    """A site with pages that people may read, and pages that are only observed."""
    return factories.site(
        account,
        {
            "/open/": factories.policy(account, READERS),
            "/watched/": factories.policy(account, factories.DENY_ALL, mode="observe"),
        },
        host="pub.example",
        robots_txt=ROBOTS,
    )


def visit(ask, requests, seed):
    random = Random(seed)
    for _ in range(requests):
        path = f"/{random.choice(['open', 'watched'])}/{random.choice('abc')}"
        ask(path, user_agent=random.choice(AGENTS), referer=random.choice(REFERERS))


def reports(api):
    return [api.get(f"/v1/analytics/{name}", **query).body for name, query in REPORTS]


def former_page(row, scheme):
    """Return the row's page, or the http page that earlier versions counted it under."""
    url = row.page.url.replace("https:", scheme)
    page, _ = Page.objects.get_or_create(
        account_id=row.account_id, digest=url_digest(url), defaults={"url": url, "site_id": row.page.site_id}
    )
    return page


def count_as_the_version_before(scheme="https:"):
    """Move the counts of EdgeUsage to the tables of the version before."""
    for row in EdgeUsage.objects.all():
        place = {"account_id": row.account_id, "day": row.day}
        if row.kind == UsageKind.REFERRER_OF_PAGE:
            number = row.allowed + row.observed + row.denied
            ReferralDay.objects.create(**place, page=former_page(row, scheme), host=row.referrer, referrals=number)
        elif row.kind != UsageKind.REFERRER:
            counts = {name: getattr(row, name) for name in COUNTS}
            visitor = {**place, "requester_id": row.requester_id, "identified_by": row.identified_by, **counts}
            if row.kind == UsageKind.VISITOR:
                VisitorDay.objects.create(**visitor)
            else:
                PageDay.objects.create(**visitor, page=former_page(row, scheme), violations=row.violations)
    EdgeUsage.objects.all().delete()


@pytest.mark.parametrize("scheme", ["https:", "http:"])
def test_reports_are_the_same_after_counts_were_moved(ask, api, site, monkeypatch, scheme):
    monkeypatch.setattr(former_counts, "CHUNK", 3)
    visit(ask, 40, seed=5)
    before = reports(api)
    count_all()
    count_as_the_version_before(scheme)
    assert reports(api) != before
    assert former_counts.move_former_counts() > 0
    assert reports(api) == before
    assert set(Page.objects.values_list("site", flat=True)) == {site.pk}
    assert former_counts.move_former_counts() == 0


def test_requests_that_either_version_counted_appear_once(ask, api, site):
    visit(ask, 20, seed=6)
    count_all()
    count_as_the_version_before()
    VisitsCounted.objects.update(until=timezone.now())
    visit(ask, 20, seed=7)
    former_counts.move_former_counts()
    count_all()
    counted = reports(api)
    EdgeUsage.objects.all().delete()
    VisitsCounted.objects.all().delete()
    assert counted == reports(api)
    assert counted[0]["total"] == 3


def test_a_move_that_broke_off_continues(ask, api, site, monkeypatch):
    monkeypatch.setattr(former_counts, "CHUNK", 2)
    visit(ask, 20, seed=8)
    before = reports(api)
    count_all()
    count_as_the_version_before("http:")
    original, calls = former_counts.add_usage, []

    def breaks(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise RuntimeError
        original(*arguments)

    with monkeypatch.context() as broken:
        broken.setattr(former_counts, "add_usage", breaks)
        with pytest.raises(RuntimeError):
            former_counts.move_former_counts()
    assert former_counts.count_former_rows() > 0
    former_counts.move_former_counts()
    assert reports(api) == before
    assert {page.url.partition(":")[0] for page in Page.objects.all()} == {"https"}


def test_another_accounts_counts_are_moved_apart(ask, api, other_api, account, other_account, site):
    visit(ask, 5, seed=9)
    before = reports(api)
    count_all()
    count_as_the_version_before()
    page = Page.objects.create(account=other_account, digest=url_digest(f"{HOST}/open/a"), url=f"{HOST}/open/a")
    now = timezone.now()
    counts = {
        "account": other_account,
        "day": now.date(),
        "requester": factories.requester(other_account),
        "identified_by": "nothing",
        "allowed": 3,
        "observed": 0,
        "denied": 0,
        "last_seen": now,
    }
    VisitorDay.objects.create(**counts)
    PageDay.objects.create(**counts, page=page)
    former_counts.move_former_counts()
    assert reports(api) == before
    assert other_api.get("/v1/analytics/pages")["summary"]["requests"] == 3


def test_the_service_moves_former_counts():
    assert former_counts.move_former_counts in [job.act for job in jobs.SHARED_JOBS]
