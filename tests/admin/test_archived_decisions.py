import re
from decimal import Decimal

import pytest
from django.urls import reverse

from analytics.ledger.entries import add_entries
from analytics.ledger.refunds import usage_id
from analytics.models import AccessEvent, LedgerEntry
from analytics.rollups.rebuild import rebuild
from licensing.access.archived.queryset import ORDER_BY_ID, ORDER_BY_TIME, HistoryQuerySet
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


def rows_of_lists(client, of_two):
    """Return the ids on each page of the list by its address, and how many there are, with every filter."""
    found = {}
    for query in filters(of_two):
        for page in range(1, 9):
            path = list_url(AccessEvent, **query, p=page)
            reply = client.get(path)
            if reply.status_code != 200:  # there is no such page
                break
            listed = reply.context["cl"]
            found[path] = ([one.pk for one in listed.result_list], listed.result_count)
    return found


def test_lists_pages_files_and_reports_are_the_same_across_the_horizon(admin, api, of_two, table, monkeypatch):
    monkeypatch.setattr("operators.base.exporting.CHUNK", 70)
    pages = [list_url(AccessEvent, **query) for query in ({}, {"p": 3}, {"outcome": "denied", "p": 2})]
    pages += [change_url(one) for one in of_two[::20]]
    pages.append(f"{reverse('admin:check_access')}?decision={of_two.last().pk}")
    files = [f"{reverse('admin:analytics_accessevent_export_items')}?{query}" for query in ("", "outcome=denied")]
    windows = [
        {"startDate": "2025-11-01", "endDate": "2026-02-28"},
        {"startDate": "2026-01-20T10:00:00Z", "endDate": "2026-02-02"},
    ]

    def read():
        lists = rows_of_lists(admin, of_two)
        exported = [admin.get(path).getvalue().splitlines() for path in files]
        reports = [api.get("/v1/analytics/observed", **window) for window in windows]
        newest = decision_filters.bounded_scan(HistoryQuerySet.covering(AccessEvent.objects.order_by("-pk")), 200)
        return lists, [shown(admin, path) for path in pages], exported, reports, [one.pk for one in newest]

    lists, looks, exported, reports, newest = read()
    assert sum(len(rows) for rows, _ in lists.values()) > 1_000
    assert len(exported[0]) == len(of_two) + 1
    assert reports[0]["total"] > 10
    assert reports[0]["byRequester"]
    assert len(newest) == 200
    move_to_archive()
    now = read()
    assert now[0] == lists, "the rows of a list"
    assert now[1] == looks, "a page"
    assert now[2] == exported, "a file"
    assert [one.content for one in now[3]] == [one.content for one in reports], "a report of observed denials"
    assert now[4] == newest, "the newest that a filter searches"


def test_archived_decisions_are_found_by_the_operators_of_their_account_and_not_sorted_by_a_column(
    admin, of_two, table, account, staff, sign_in
):
    oldest, other = of_two.last(), of_two.exclude(account=account).last()
    move_to_archive()
    assert change_url(oldest) in admin.get("/admin/search/", {"s": oldest.pk}).content.decode()
    client = sign_in(staff("analytics.view_accessevent", accounts=[account]))
    assert {one.account_id for one in client.get(list_url(AccessEvent, p=6)).context["cl"].result_list} == {account.pk}
    assert client.get(change_url(other)).status_code == 302
    assert admin.get(reverse("admin:analytics_accessevent_change", args=["dec_" + "0" * 26])).status_code == 302

    whole = admin.get(list_url(AccessEvent, o="0"))
    assert "Some are in the archive" in whole.content.decode()
    newest = [one.pk for one in whole.context["cl"].result_list]
    assert newest == sorted(newest, reverse=True)
    recent = admin.get(list_url(AccessEvent, o="0", created_from_0="2026-02-02"))
    assert "Some are in the archive" not in recent.content.decode()
    times = [one.created for one in recent.context["cl"].result_list]
    assert times == sorted(times)
    assert times


def test_decisions_of_a_millisecond_keep_their_order(account, events, table):
    at_once = list(AccessEvent.objects.order_by("pk")[:8])
    for place, event in enumerate(at_once):
        AccessEvent.objects.filter(pk=event.pk).delete()
        event.pk = f"{at_once[0].pk[:14]}{'0' * 15}{place * 5 % 8}"
        event.created = at_once[0].created.replace(microsecond=place)
        event.save(force_insert=True)
    whole = HistoryQuerySet.covering(AccessEvent.objects.all())
    before = {order: [one.pk for one in whole.order_by(*order)] for order in (ORDER_BY_ID, ORDER_BY_TIME)}
    assert before[ORDER_BY_ID] != before[ORDER_BY_TIME]
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
