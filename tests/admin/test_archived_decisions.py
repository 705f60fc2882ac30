import re
from decimal import Decimal

import pytest
from django.urls import reverse

from analytics.ledger.entries import add_entries
from analytics.ledger.refunds import usage_id
from analytics.models import AccessEvent, LedgerEntry
from analytics.rollups.rebuild import rebuild
from licensing.access.history.queryset import BY_ID, BY_TIME, HistoryQuerySet
from licensing.requesters.models import Requester
from licensing.visits import crawler_report
from operators.base.links import change_url, list_url
from operators.catalogue import decision_filters
from tests.analytics.archive_reading import HORIZON, SITE, URLS, _at_once, events, move_to_archive
from tests.analytics.recording import record_all, some_events
from tests.archived import BEGIN, folder, table

__all__ = ["_at_once", "events", "folder", "table"]  # fixtures


@pytest.fixture
def place(folder):
    """S3 makes no difference to the admin."""
    return folder


@pytest.fixture
def of_two(events, other_account):
    """The same for two accounts, some observed."""
    record_all(some_events(other_account, 60, BEGIN, 80, seed=3))
    for event in AccessEvent.objects.filter(allowed=True)[::3]:
        event.observed = "no_license"
        event.save()
    return AccessEvent.objects.order_by("-pk")


def shown(client, path):
    """Return a page's content, without what differs at each request."""
    reply = client.get(path)
    assert reply.status_code == 200, path
    return re.sub(r'(csrf\w*" value|nonce)="[^"]*"', "", reply.content.decode())


def filters(events):
    one = events[len(events) - 1]
    return [
        {},
        {"content__id__exact": one.content_id},
        {"requester__id__exact": one.requester_id},
        {"account__id__exact": one.account_id},
        {"created_from_0": "2025-12-24", "created_to_0": "2026-01-20", "created_to_1": "12:30:00"},
        {"created_from_0": "2026-01-20"},
        {"q": one.pk},
        {"q": one.requester.requester_id},
        {"q": "nobody"},
        {"outcome": "allowed"},
        {"outcome": "observed"},
        {"outcome": "unmet_demand"},
        {"outcome": "no_license", "content__id__exact": one.content_id},
        {"page": URLS[0]},
        {"page": "pub.example/a*", "outcome": "denied"},
        {"page": "nowhere.example"},
        {"site": SITE, "created_to_0": "2026-01-20"},
    ]


def test_lists_have_the_same_rows_on_each_page_with_every_filter(admin, of_two, table):
    def read():
        found = {}
        for query in filters(of_two):
            for page in range(1, 9):
                path = list_url(AccessEvent, **query, p=page)
                reply = admin.get(path)
                if reply.status_code != 200:  # there is no such page
                    break
                shown = reply.context["cl"]
                found[path] = ([one.pk for one in shown.result_list], shown.result_count)
        return found

    before = read()
    assert sum(len(rows) for rows, _ in before.values()) > 1_000
    move_to_archive()
    assert read() == before


def test_lists_and_pages_across_the_horizon_look_the_same(admin, of_two, table):
    for query in (
        {},
        {"p": 3},
        {"outcome": "denied", "p": 2},
    ):
        before = shown(admin, list_url(AccessEvent, **query))
        move_to_archive()
        assert shown(admin, list_url(AccessEvent, **query)) == before
    paths = [reverse("admin:analytics_accessevent_change", args=[one.pk]) for one in of_two[::20]]
    before = [shown(admin, path) for path in paths]
    move_to_archive()
    assert [shown(admin, path) for path in paths] == before
    assert admin.get(reverse("admin:analytics_accessevent_change", args=["dec_" + "0" * 26])).status_code == 302


def test_the_file_of_a_list_is_the_same(admin, of_two, table, monkeypatch):
    monkeypatch.setattr("operators.base.exporting.CHUNK", 70)
    paths = [f"{reverse('admin:analytics_accessevent_export_items')}?{query}" for query in ("", "outcome=denied")]
    before = [admin.get(path).getvalue() for path in paths]
    assert before[0].count(b"\n") == len(of_two) + 1
    move_to_archive()
    for path, found in zip(paths, before, strict=True):
        assert admin.get(path).getvalue().splitlines() == found.splitlines()


def test_an_operator_of_another_account_sees_none_of_them(of_two, table, account, staff, sign_in):
    client = sign_in(staff("analytics.view_accessevent", accounts=[account]))
    other = of_two.exclude(account=account).last()
    move_to_archive()
    assert {one.account_id for one in client.get(list_url(AccessEvent, p=6)).context["cl"].result_list} == {account.pk}
    assert client.get(reverse("admin:analytics_accessevent_change", args=[other.pk])).status_code == 302


def test_an_archived_decision_is_found_by_the_search_and_decided_again(admin, of_two, table):
    oldest = of_two.last()
    path = f"{reverse('admin:check_access')}?decision={oldest.pk}"
    before = shown(admin, path)
    move_to_archive()
    assert shown(admin, path) == before
    assert change_url(oldest) in admin.get("/admin/search/", {"s": oldest.pk}).content.decode()


def test_the_newest_that_a_filter_searches_may_reach_into_the_archive(admin, of_two, table, monkeypatch):
    monkeypatch.setattr(decision_filters, "MAX_SCANNED", 200)
    bounded = decision_filters.bounded_scan
    before = [one.pk for one in bounded(HistoryQuerySet.covering(of_two), 200)]
    assert len(before) == 200
    move_to_archive()
    assert [one.pk for one in bounded(HistoryQuerySet.covering(AccessEvent.objects.order_by("-pk")), 200)] == before


def test_only_lists_that_the_database_has_are_sorted_by_a_column(admin, of_two, table):
    move_to_archive()
    whole = admin.get(list_url(AccessEvent, o="0"))
    assert "Some are in the archive" in whole.content.decode()
    newest = [one.pk for one in whole.context["cl"].result_list]
    assert newest == sorted(newest, reverse=True)
    recent = admin.get(list_url(AccessEvent, o="0", created_from_0="2026-02-02"))
    assert "Some are in the archive" not in recent.content.decode()
    oldest = [one.created for one in recent.context["cl"].result_list]
    assert oldest == sorted(oldest)
    assert oldest


def test_decisions_of_a_millisecond_keep_their_order(account, events, table):
    at_once = list(AccessEvent.objects.order_by("pk")[:8])
    for place, event in enumerate(at_once):
        AccessEvent.objects.filter(pk=event.pk).delete()
        event.pk = f"{at_once[0].pk[:14]}{'0' * 15}{place * 5 % 8}"
        event.created = at_once[0].created.replace(microsecond=place)
        event.save(force_insert=True)
    whole = HistoryQuerySet.covering(AccessEvent.objects.all())
    before = {order: [one.pk for one in whole.order_by(*order)] for order in (BY_ID, BY_TIME)}
    assert before[BY_ID] != before[BY_TIME]
    move_to_archive()
    for order, found in before.items():
        assert [one.pk for one in whole.order_by(*order)] == found
        parts = [whole.order_by(*order)[first : first + 7] for first in range(0, len(found), 7)]
        assert [one.pk for part in parts for one in part] == found


def test_no_list_is_shorter_for_lack_of_the_archive_or_of_a_column_there(admin, of_two, table, place):
    path = list_url(AccessEvent, reason__startswith="no_")
    assert admin.get(path).status_code == 200
    move_to_archive()
    assert admin.get(path).status_code == 302
    place.delete(".parquet")
    admin.raise_request_exception = False
    reply = admin.get(list_url(AccessEvent))
    assert reply.status_code == 503
    assert "cannot read its archive" in reply.content.decode()


def test_the_reports_of_observed_denials_are_the_same(admin, api, account, of_two, table):
    window = {"startDate": "2025-11-01", "endDate": "2026-02-28"}
    before = api.get("/v1/analytics/observed", **window)
    assert before["total"] > 10
    assert before["byRequester"]
    across = {"startDate": "2026-01-20T10:00:00Z", "endDate": "2026-02-02"}
    partly = api.get("/v1/analytics/observed", **across)
    move_to_archive()
    assert api.get("/v1/analytics/observed", **window).content == before.content
    assert api.get("/v1/analytics/observed", **across).content == partly.content


@pytest.mark.parametrize("chunk", [1, 10_000])
def test_the_revenue_of_crawlers_from_a_folder_is_the_same(api, account, events, table, monkeypatch, chunk):
    monkeypatch.setattr(crawler_report, "CHARGES", chunk)
    crawler = events[0].requester
    Requester.objects.filter(pk=crawler.pk).update(requester_id="unverified:gptbot")
    AccessEvent.objects.filter(pk__in=[one.pk for one in events[:20]]).update(requester=crawler)
    charged = list(AccessEvent.objects.filter(requester=crawler))
    about = {"account": account, "requester": crawler, "type": "usage", "amount": Decimal("0.5"), "currency": "USD"}
    add_entries(
        [
            LedgerEntry(id=usage_id(one.pk), decision=one, content_id=one.content_id, occurred_at=one.created, **about)
            for one in charged
        ]
    )
    window = {"startDate": "2025-11-01", "endDate": "2026-02-28"}
    folders = ["https://pub.example/", "https://pub.example/a/", "http://pub.example/a", "https://nowhere.example/"]

    def revenue(**query):
        return [
            api.get("/v1/analytics/crawlers", **query, **{"url[prefix]": folder})["summary"]["revenue"]
            for folder in folders
        ]

    before, partly = revenue(**window), revenue(startDate="2026-01-20", endDate="2026-02-02")
    assert before[0][0]["amount"] > before[1][0]["amount"] > 1
    assert before[3] == []
    move_to_archive()
    assert revenue(**window) == before
    assert revenue(startDate="2026-01-20", endDate="2026-02-02") == partly


def test_a_customers_last_access_and_charges_are_the_same(admin, account, events, table, place):
    customer = events[0].requester
    AccessEvent.objects.filter(created__gte=HORIZON, requester=customer).delete()
    rebuild([account.pk])
    oldest = AccessEvent.objects.filter(requester=customer).order_by("created").first()
    about = {"account": account, "content": oldest.content, "requester": customer, "decision": oldest}
    charge = {"type": "usage", "amount": Decimal(3), "currency": "USD", "occurred_at": oldest.created}
    add_entries([LedgerEntry(id=usage_id(oldest.pk), **about, **charge)])
    of_customer = [reverse(f"admin:licensing_requester_{name}", args=[customer.pk]) for name in ("change", "refund")]
    of_charge = change_url(LedgerEntry.objects.get())
    last_access, refund, charged = (shown(admin, path) for path in (*of_customer, of_charge))
    assert change_url(oldest) in charged
    assert "3.00 USD" in refund
    [at] = re.findall(r"Last access.*?<time[^>]*datetime=\"([^\"]*)", last_access, re.DOTALL)[:1]
    move_to_archive()
    assert shown(admin, of_customer[1]) == refund
    assert shown(admin, of_charge) == charged
    assert re.findall(r"Last access.*?<time[^>]*datetime=\"([^\"]*)", shown(admin, of_customer[0]), re.DOTALL)[:1] == [
        at
    ]
    place.delete(".parquet")
    assert "Customer" in shown(admin, of_charge)
