from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analytics.archive import changes, copying, dropping
from analytics.archive.copying import update_archive
from analytics.archive.dropping import drop_archived
from analytics.archive.horizon import horizon_cache
from analytics.archive.models import ArchivedMonth, ArchiveHorizon
from analytics.archive.reading import ArchiveQuery
from analytics.archive.table import ArchiveError, DecisionTable
from analytics.events.partitions import list_partitions
from analytics.events.retention import purge_events
from analytics.ledger.entries import add_entries
from analytics.ledger.refunds import usage_id
from analytics.models import AccessEvent, LedgerEntry
from analytics.rollups.rebuild import rebuild
from kit import statement_timeout
from kit.http.errors import ServiceUnavailable
from kit.rest.lists import counting
from licensing.content.models import Content
from licensing.requesters.models import Requester
from licensing.visits.models import VisitsCounted
from tests import factories
from tests.analytics.archive_reading import HORIZON, LIST, URLS, _at_once, events, filters, move_to_archive, pages
from tests.analytics.recording import Event, record_all, requester, some_events
from tests.archived import BEGIN, NOW, archived, folder, place, prefix, s3_server, table

pytestmark = pytest.mark.slow
__all__ = ["_at_once", "events", "folder", "place", "prefix", "s3_server", "table"]  # fixtures


def test_lists_are_the_same_in_both_orders_with_every_filter(api, events, table):
    queries = [f"sort={sort}&{query}" for sort, query in product(("created", "-created"), filters(events))]
    before = {query: pages(api, query, 100) for query in queries}
    assert sum(len(found) for found in before.values()) > 80
    move_to_archive()
    for query, found in before.items():
        assert pages(api, query, 100) == found, query


def test_counts_are_the_same_and_read_only_parts_of_days_in_the_archive(api, events, table, folder, monkeypatch):
    one = events[0]
    by = ["", f"contentId={one.content_id}", f"requesterId[ne]={one.requester.requester_id}", "allowed=false"]
    times = ["2025-12-01", "2025-12-24T12:30:00.5Z", "2025-12-24T12:59:59Z", "2026-02-01", "2026-02-02T11:11:11Z"]
    windows = [f"created[gte]={begin}&created[lt]={end}" for begin, end in product(times, times)]
    windows += [f"created[{operator}]={time}" for operator, time in product(["gt", "lte"], times)]

    def counts():
        queries = [f"{LIST}?limit=1&count=exact&{query}&{window}" for query, window in product(by, windows)]
        pages = [api.get(query).body for query in queries]
        return [(page["totalCount"], "totalCountIsExact" in page) for page in pages]

    before, read = counts(), []
    assert len(set(before)) > 30
    move_to_archive()
    count = ArchiveQuery.count
    monkeypatch.setattr(ArchiveQuery, "count", lambda part, seconds: read.append(part) or count(part, seconds))
    assert counts() == before
    assert read
    assert all(part.end - part.begin < timedelta(days=1) for part in read)


def test_cursors_lead_across_the_horizon_and_go_on_after_the_archiving(api, events, table):
    whole = {sort: pages(api, f"sort={sort}&count=none&expand=key", 7) for sort in ("created", "-created")}
    half = api.get(LIST, limit=100, sort="created", count="none")
    rest = api.get(LIST, limit=100, sort="created", count="none", cursor=half["nextCursor"]).content
    move_to_archive()
    assert whole == {sort: pages(api, f"sort={sort}&count=none&expand=key", 7) for sort in whole}
    assert api.get(LIST, limit=100, sort="created", count="none", cursor=half["nextCursor"]).content == rest


def test_each_decision_is_found_by_its_id(api, other_api, events, table):
    ids = [event.pk for event in events[::10]]
    before = [api.get(f"{LIST}/{id}").content for id in ids]
    move_to_archive()
    assert [api.get(f"{LIST}/{id}").content for id in ids] == before
    for missing in ("dec_" + ids[0][4:-6] + "000000", "dec_" + "0" * 26, "dec_" + "7" * 26, "nonsense"):
        assert api.get(f"{LIST}/{missing}").status == 404
    assert {other_api.get(f"{LIST}/{id}").status for id in ids} == {404}


def test_a_requester_was_last_seen_at_the_same_time(api, account, events, table):
    names = sorted({event.requester.requester_id for event in events})
    AccessEvent.objects.filter(created__gte=HORIZON, requester__requester_id__in=names[::2]).delete()
    rebuild([account.pk])

    def stats():
        return {name: api.get(f"/v1/requesters/{name}")["stats"] for name in names}

    before = stats()
    assert min(one["lastSeenAt"] for one in before.values()) < HORIZON.isoformat()
    move_to_archive()
    assert stats() == before


def test_a_requester_can_be_changed_without_the_archive(api, account, events, table, place):
    AccessEvent.objects.filter(created__gte=HORIZON).delete()
    rebuild([account.pk])
    move_to_archive()
    place.delete(".parquet")
    changed = api.patch(f"/v1/requesters/{Requester.objects.earliest('pk').requester_id}", {"notes": "Late"})
    assert (changed.status, changed["stats"]["lastSeenAt"]) == (200, None)


def test_archived_decisions_can_be_refunded_and_adjusted(api, other_api, events, table):
    charged, free = events[0], events[1]
    about = {"account": charged.account, "content": charged.content, "requester": charged.requester}
    price = {"type": "usage", "amount": Decimal(3), "currency": "USD", "occurred_at": BEGIN}
    charge = LedgerEntry(id=usage_id(charged.pk), decision=charged, **about, **price)
    add_entries([charge])
    move_to_archive()
    for event, amount in ((charged, "-3"), (charged, "5"), (free, "2")):
        booking = {"amount": amount, "currency": "USD", "decisionId": event.pk}
        booked = api.post("/v1/revenue", booking)
        assert booked.status == 201, booked
        assert (booked["contentId"], booked["requesterId"]) == (event.content_id, event.requester.requester_id)
        assert other_api.post("/v1/revenue", booking).error["param"] == "decisionId"
    excess = api.post("/v1/revenue", {"amount": "-6", "currency": "USD", "decisionId": charged.pk})
    assert excess.error["param"] == "amount"


def test_files_reports_and_rebuilt_rollups_are_the_same(api, account, events, table):
    middle = events[120].pk
    files = [
        "format=csv", "format=jsonl&sort=created", "format=jsonl&allowed=false&url[prefix]=https://pub.example/a",
        f"format=jsonl&after={middle}", f"format=csv&sort=created&after={middle}",
    ]  # fmt: skip
    report = "/v1/analytics/usage?startDate=2025-11-01&endDate=2026-02-28&groupBy=month"
    before = {path: api.get(path).content for path in (report, *(f"{LIST}?{query}" for query in files))}
    move_to_archive()
    assert {path: api.get(path).content for path in before} == before
    assert rebuild([account.pk]) == []
    assert api.get(report).content == before[report]


def test_simulations_replay_archived_decisions(api, account, events, table):
    rule = {"priority": 1, "action": "allow", "conditions": {"default": True}}
    rule["rateLimit"] = {"requests": 1, "period": "day"}
    policy = factories.policy(account)
    Content.objects.filter(account=account).update(policy=policy)
    site = factories.site(account, {"/news/*": policy}, host="news.example")
    for number, decided_by in ((0, policy), (1, None)):  # pages without an item, the first ones by this policy
        moved = [event.pk for event in events[number::4]]
        AccessEvent.objects.filter(pk__in=moved).update(content=site.pages, policy=decided_by)
    windows = [("2025-11-01", "2026-03-01"), ("2025-12-24", "2026-01-20")]
    drafts = [
        {"rules": [rule], "startDate": begin, "endDate": end} | ({"limit": limit} if limit else {})
        for limit, (begin, end) in product([None, 1, 30, 150, 290], windows)
    ]

    def simulate():
        return [api.post(f"/v1/policies/{policy.pk}/simulate", draft) for draft in drafts]

    before = simulate()
    assert {reply.status for reply in before} == {200}
    move_to_archive()
    assert [reply.content for reply in simulate()] == [reply.content for reply in before]


@pytest.mark.parametrize("remove", [move_to_archive, lambda: purge_events(HORIZON)], ids=["archive", "purge"])
@pytest.mark.parametrize("report", ["pages", "visitors"])
def test_visits_are_counted_before_their_decisions_are_removed(api, events, table, remove, report):
    """The service that counts them each minute may have been stopped since."""
    VisitsCounted.objects.create(pk=1, until=datetime(2026, 1, 30, tzinfo=UTC))
    window = {"startDate": "2026-01-30", "endDate": "2026-02-28"}
    before = api.get(f"/v1/analytics/{report}", **window).content
    remove()
    assert api.get(f"/v1/analytics/{report}", **window).content == before
    assert VisitsCounted.objects.get().until == HORIZON


def test_a_list_needs_no_query_more_without_an_archive(api, events, table):
    api.get(LIST)
    with CaptureQueriesContext(connection) as queries:
        api.get(LIST, sort="created")
    assert not [query for query in queries if "archive" in query["sql"]]


def test_an_erased_requester_is_hidden_at_once_and_leaves_the_files_at_the_next_run(
    api, account, events, table, place
):
    name = events[0].requester.requester_id
    AccessEvent.objects.filter(requester__requester_id=name).update(facts={"ip": "203.0.113.77", "url": URLS[0]})
    update_archive(NOW)
    drop_archived(NOW, NOW)
    assert name in place.texts()
    erased = api.delete(f"/v1/requesters/{name}")
    assert erased.status in (200, 204)
    every = b"".join(pages(api, "count=none", 100))
    assert b"203.0.113.77" not in every
    assert name.encode() not in every
    assert update_archive(NOW)[0] > 1
    assert not any(trace in place.texts() for trace in (name, "203.0.113.77"))
    assert b"".join(pages(api, "count=none", 100)) == every
    assert update_archive(NOW) == (0, 0)


def test_an_erasure_rewrites_only_the_months_in_which_the_customer_asked(api, account, table, place):
    ada, other = requester(account, "ada@engine.example"), requester(account, "org_other")
    asked = [(other, day) for day in range(0, 70, 10)] + [(ada, 30)]  # Ada in one of three months
    item = factories.content(account)
    record_all([Event(BEGIN + timedelta(days=day), item, one, None) for one, day in asked])
    AccessEvent.objects.filter(requester=ada).update(facts={"requesterName": "Ada Lovelace"})
    move_to_archive()
    files = set(place.files(".parquet"))
    assert api.delete("/v1/requesters/ada@engine.example").status == 200
    assert update_archive(NOW) == (1, 0)
    assert len(files & set(place.files(".parquet"))) == len(files) - 1 == 2
    assert not any(trace in place.texts() for trace in ("ada@engine", "Lovelace"))


def test_reading_continues_in_the_file_that_an_erasure_rewrote(api, account, events, table, place, monkeypatch):
    monkeypatch.setattr(copying, "GROUP_ROWS", 7)
    asked_in = {event.created.month: event.requester.requester_id for event in events}
    move_to_archive()
    stretch, former = ArchiveQuery(account.pk, None, HORIZON), place.files(".parquet")
    wanted = [one["id"] for chunk in stretch.read_in_chunks(5) for one in chunk]
    being_read = stretch.read_in_chunks(5)
    found = next(being_read)
    for name in {*asked_in.values()}:  # one in each month
        assert api.delete(f"/v1/requesters/{name}").status in (200, 204)
    update_archive(NOW)
    assert not set(former) & set(place.files(".parquet"))
    assert [one["id"] for one in sum(being_read, found)] == wanted


def test_purged_months_are_gone_at_once(api, events, table):
    oldest = events[0].pk
    move_to_archive()
    assert api.get(f"{LIST}/{oldest}").status == 200
    assert purge_events(datetime(2025, 12, 5, tzinfo=UTC)).archived_months == ["2025-10", "2025-11"]
    assert api.get(f"{LIST}/{oldest}").status == 404
    assert api.get(LIST, sort="created")["data"][0]["created"] >= "2025-12-01"
    assert update_archive(NOW)[1] == 2


def test_a_missing_file_is_an_error_of_the_service_and_no_shorter_list(api, events, table, place):
    move_to_archive()
    place.delete(".parquet")
    reply = api.get(LIST, sort="created")
    assert (reply.status, reply.error["message"]) == (503, "The service cannot read its archive of old decisions.")
    with pytest.raises(ArchiveError, match=r"\.parquet is missing, and nothing else has these decisions"):
        update_archive(NOW, discard_copies=True)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet" * 9], ids=["empty", "truncated", "another"])
def test_a_damaged_file_is_an_error_of_the_service_too(api, events, table, folder, content):
    update_archive(NOW)
    [*_, newest] = folder.files(".parquet")
    Path(newest).write_bytes(content)
    with pytest.raises(ArchiveError, match="cannot be read or written"):
        drop_archived(NOW, NOW)
    assert AccessEvent.objects.count() == 300
    ArchiveHorizon.objects.create(pk=1, begin=HORIZON)
    horizon_cache.clear()
    for path in (f"{LIST}?count=none&limit=100&created[lt]=2026-02-01", f"{LIST}?count=exact&url={URLS[0]}"):
        reply = api.get(path)
        assert (reply.status, reply.error["message"]) == (503, "The service cannot read its archive of old decisions.")


def test_a_long_search_is_given_up_and_a_long_count_estimated(api, account, events, table, monkeypatch):
    move_to_archive()
    wanted = f"{LIST}?created[lt]=2026-01-20&identifiedBy=signature&limit=1"
    assert "totalCountIsExact" not in api.get(wanted).body
    monkeypatch.setattr(counting, "SECONDS", 0)
    page = api.get(wanted)
    assert page["totalCountIsExact"] is False
    assert page["totalCount"] >= 2
    with statement_timeout.time_limit(0), pytest.raises(ServiceUnavailable, match="Narrow the filters"):
        ArchiveQuery(account.pk, None, HORIZON).read(1, descending=True)


def test_nothing_is_removed_if_a_file_differs_or_a_month_has_changed_or_is_not_archived(
    account, other_account, events, table
):
    update_archive(NOW)
    first = ArchivedMonth.objects.earliest("month")
    ArchivedMonth.objects.filter(pk=first.pk).update(checksum=1)
    with pytest.raises(ArchiveError, match=r"The archive differs from the decisions of .* Nothing was removed"):
        drop_archived(NOW, NOW)
    ArchivedMonth.objects.filter(pk=first.pk).update(checksum=first.checksum)
    record_all(some_events(other_account, 5, BEGIN, 5, seed=1))
    there = AccessEvent.objects.count()
    with pytest.raises(ArchiveError, match="have changed"):
        drop_archived(NOW, NOW)
    update_archive(NOW)
    changes.note_change(account.pk, [BEGIN.date()])
    with pytest.raises(ArchiveError, match="have changed"):
        drop_archived(NOW, NOW)
    assert (AccessEvent.objects.count(), ArchiveHorizon.objects.count()) == (there, 0)


def test_a_removal_that_was_interrupted_reads_each_decision_once_and_goes_on(api, events, table, monkeypatch):
    before = pages(api, "sort=created", 100)
    update_archive(NOW)
    with monkeypatch.context() as patched:
        patched.setattr(dropping, "remove_before", lambda horizon: None)
        drop_archived(NOW, NOW)
    assert AccessEvent.objects.filter(created__lt=HORIZON).exists()
    assert pages(api, "sort=created", 100) == before
    assert update_archive(NOW) == (0, 0)
    drop_archived(NOW, NOW)
    assert not AccessEvent.objects.filter(created__lt=HORIZON).exists()
    assert pages(api, "sort=created", 100) == before


def test_only_months_that_are_over_for_long_enough_are_removed(events, table, settings):
    update_archive(NOW)
    assert drop_archived(NOW, NOW - timedelta(days=45)) == datetime(2025, 12, 1, tzinfo=UTC)
    assert AccessEvent.objects.earliest("created").created >= datetime(2025, 12, 1, tzinfo=UTC)
    if connection.vendor == "postgresql":
        assert "analytics_accessevent_2025_11" not in list_partitions()
        assert "analytics_accessevent_2025_12" in list_partitions()


def test_an_archive_made_anew_keeps_the_only_copies(api, account, events, table, settings, place):
    before = pages(api, "sort=created", 100)
    move_to_archive()
    there = archived(table)
    place.copy_to(place.beside())
    settings.ARCHIVE_DIR = place.beside().setting
    update_archive(NOW, discard_copies=True)
    assert pages(api, "sort=created", 100) == before
    with DecisionTable() as moved:
        assert archived(moved) == there
        moved.discard()


def test_nothing_is_imported_into_a_month_that_only_the_archive_has(account, events, table):
    move_to_archive()
    with pytest.raises(ValidationError, match="None can be added there"):
        changes.note_change(account.pk, [BEGIN.date()])


@pytest.mark.parametrize(("days", "options"), [(30, []), (0, ["--drop"])])
def test_the_command_removes_what_it_has_archived(events, table, settings, days, options):
    settings.ARCHIVE_AFTER_DAYS = days
    call_command("archive_events", *options)
    assert AccessEvent.objects.filter(created__lt=HORIZON).count() == 0
