from datetime import UTC, datetime, timedelta
from itertools import combinations, product

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from analytics.events.retention import purge_events
from analytics.models import AccessEvent, RecentUsage
from analytics.rollups.roll_up import roll_up
from kit.storage.limited import TookTooLong
from tests import factories
from tests.analytics.recording import Event, record_all, some_events, utc
from tests.client import ApiClient
from tests.standing import as_new

BEGIN, DAYS = "2025-11-20", 75  # over a turn of the year
HOUR = timedelta(hours=1)


class Recorded:
    """An account with decisions, only some of which PostgreSQL has rolled up, and the filters to test."""

    def __init__(self, account, events):
        self.account_id, self.events = account.pk, events
        contents = sorted({event.content.pk for event in events})
        requesters = sorted({event.requester.requester_id for event in events})
        unknown = "cnt_" + "0" * 26
        self.contents = {
            f"contentId={contents[0]}": lambda event: event.content.pk == contents[0],
            f"contentId={unknown}": lambda event: False,
            f"contentId[ne]={contents[1]}": lambda event: event.content.pk != contents[1],
            f"contentId[in]={contents[2]},{contents[3]},{unknown}": lambda event: event.content.pk in contents[2:4],
        }
        self.requesters = {
            f"requesterId={requesters[0]}": lambda event: event.requester.requester_id == requesters[0],
            "requesterId=nobody": lambda event: False,
            f"requesterId[ne]={requesters[1]}": lambda event: event.requester.requester_id != requesters[1],
            "requesterId[ne]=nobody": lambda event: True,
            f"requesterId[in]={requesters[2]},{requesters[3]},nobody": (
                lambda event: event.requester.requester_id in requesters[2:4]
            ),
        }


OUTCOMES = {
    "allowed=true": lambda event: event.reason is None,
    "allowed=false": lambda event: event.reason is not None,
    "allowed[ne]=true": lambda event: event.reason is not None,
    "allowed[in]=true,false": lambda event: True,
    "reason=no_license": lambda event: event.reason == "no_license",
    "reason[ne]=no_license": lambda event: event.reason != "no_license",
    "reason[in]=no_license,no_policy": lambda event: event.reason in ("no_license", "no_policy"),
    "reason[exists]=true": lambda event: event.reason is not None,
    "reason[exists]=false": lambda event: event.reason is None,
}
BOTH = {"allowed=false&reason[ne]=no_policy": lambda event: event.reason not in (None, "no_policy")}


def moments(*texts):
    return [datetime.fromisoformat(text).replace(tzinfo=UTC) for text in texts]


MOMENTS = moments(
    "2025-11-20T00:00:00", "2025-12-01T00:00:00", "2025-12-07T13:00:00", "2025-12-31T23:59:59.999999",
    "2026-01-01T00:00:00", "2026-01-17T08:15:30.123456", "2026-02-02T00:00:00.000001",
)  # fmt: skip


def stamp(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def windows():
    """Time filters and their meaning: open, closed, empty, within an hour, and dates without a time."""
    for moment in MOMENTS:
        yield f"created[gte]={stamp(moment)}", lambda event, moment=moment: event.created >= moment
        yield f"created[lte]={stamp(moment)}", lambda event, moment=moment: event.created <= moment
    for first, last in ((0, 1), (1, 3), (2, 5), (3, 4), (4, 5), (0, 6)):
        begin, end = MOMENTS[first], MOMENTS[last]
        query = f"created[gt]={stamp(begin)}&created[lt]={stamp(end)}"
        yield query, lambda event, begin=begin, end=end: begin < event.created < end
    begin, end = MOMENTS[5], MOMENTS[5] + HOUR / 4
    yield f"created[gte]={stamp(begin)}&created[lt]={stamp(end)}", lambda event: begin <= event.created < end
    yield f"created[gte]={stamp(end)}&created[lt]={stamp(begin)}", lambda event: False
    first, last = moments("2025-12-05", "2026-01-10")
    query = "created[gt]=2025-12-05&created[lte]=2026-01-10"
    yield query, lambda event: first + 24 * HOUR <= event.created < last + 24 * HOUR


@pytest.fixture(scope="module")
def recorded(for_the_module):
    with for_the_module():
        account = factories.account()
        events = some_events(account, 1_500, utc(BEGIN), DAYS, seed=3)
        begin = utc("2026-01-17") + timedelta(hours=8)
        dense = [
            Event(begin + number * HOUR / 40, events[number].content, events[number].requester, events[number].reason)
            for number in range(80)
        ]
        other = factories.account("Other")
        record_all([*events, *dense, *some_events(other, 50, utc(BEGIN), DAYS, seed=4)])
        return Recorded(account, [*events, *dense])


@pytest.fixture
def asked(recorded, db):
    """Return a function that requests `totalCount` for a query, never taking the single-page shortcut."""
    as_new(recorded.account_id)
    api = ApiClient(factories.key_text(Account.objects.get(pk=recorded.account_id)))
    assert api.get("/v1/access/decisions", limit=1).status == 200  # notes the use of the key

    def ask(query):
        with CaptureQueriesContext(connection) as captured:
            page = api.get(f"/v1/access/decisions?limit=1&{query}")
        assert page.status == 200, query
        assert "totalCountIsExact" not in page.body
        return page["totalCount"], [one["sql"] for one in captured.captured_queries]

    return ask


def expected(recorded, *conditions):
    return sum(all(holds(event) for holds in conditions) for event in recorded.events)


def counts_one_by_one(statements):
    """Whether the statements count single decisions."""
    return any("AS found" in sql for sql in statements)


def test_a_part_is_pending_on_postgresql(recorded, db):
    assert (RecentUsage.objects.count() > 0) == (connection.vendor == "postgresql")


@pytest.mark.slow
def test_every_filter_by_itself_and_in_every_window(recorded, asked):
    alone = {"": lambda event: True, **OUTCOMES, **BOTH, **recorded.contents, **recorded.requesters}
    for (query, holds), (window, lies) in product(alone.items(), [("", lambda event: True), *windows()]):
        total, statements = asked(f"{query}&{window}".strip("&"))
        number = expected(recorded, holds, lies)
        assert (query, window, total) == (query, window, number)
        assert not counts_one_by_one(statements), (query, window)


@pytest.mark.slow
def test_filters_that_the_rollups_do_not_know_together_are_counted_one_by_one(recorded, asked):
    pairs = [
        *product(OUTCOMES.items(), recorded.contents.items()),
        *product(OUTCOMES.items(), recorded.requesters.items()),
        *product(recorded.contents.items(), recorded.requesters.items()),
    ]
    for (one, holds), (other, also) in pairs:
        query = f"{one}&{other}"
        assert (query, asked(query)[0]) == (query, expected(recorded, holds, also))


def test_several_filters_by_one_field_narrow_each_other(recorded, asked):
    for fields in (recorded.contents, recorded.requesters, OUTCOMES):
        for (one, holds), (other, also) in combinations(fields.items(), 2):
            if one.partition("=")[0] != other.partition("=")[0]:
                query = f"{one}&{other}"
                assert (query, asked(query)[0]) == (query, expected(recorded, holds, also))


@pytest.mark.skipif(connection.vendor != "postgresql", reason="On SQLite nothing is ever pending.")
def test_the_count_is_the_same_when_everything_is_rolled_up(recorded, asked):
    assert RecentUsage.objects.exists()
    queries = [*OUTCOMES, *recorded.contents, *recorded.requesters, *(window for window, _ in windows())]
    before = [asked(query)[0] for query in queries]
    roll_up()
    assert [asked(query)[0] for query in queries] == before


@pytest.mark.parametrize(("window", "lies"), [
    ("", lambda event: True),
    ("created[gte]=2025-12-24T12:30:00Z", lambda event: event.created >= utc("2025-12-24T12:30")),
    ("created[lt]=2026-01-17T08:15:30.5Z", lambda event: event.created < utc("2026-01-17T08:15:30.5")),
])  # fmt: skip
def test_purged_decisions_are_not_counted(recorded, asked, window, lies):
    purge_events(utc("2026-01-01"))
    AccessEvent.objects.filter(created__lt=utc("2026-01-01")).delete()  # PostgreSQL drops partitions, by their ids
    kept = lambda event: event.created >= utc("2026-01-01")  # noqa: E731
    for fields in ({"": lambda event: True}, OUTCOMES, recorded.contents, recorded.requesters):
        for query, holds in fields.items():
            assert (query, asked(f"{query}&{window}".strip("&"))[0]) == (query, expected(recorded, holds, lies, kept))


def test_decisions_not_yet_deleted_by_a_purge_are_counted(recorded, asked, monkeypatch):
    """A purge stores its horizon before it deletes; the list still shows rows not yet deleted."""
    monkeypatch.setattr("analytics.events.retention.drop_before", lambda month: [])
    monkeypatch.setattr("analytics.events.retention.AccessEvent.objects", AccessEvent.objects.none())
    purge_events(utc("2026-01-01"))
    for query, holds in {"": lambda event: True, **OUTCOMES, **recorded.contents}.items():
        assert (query, asked(query)[0]) == (query, expected(recorded, holds))


def test_a_decision_is_in_the_count_as_soon_as_it_is_answered(api, account):
    item = factories.content(account)
    for number in range(1, 6):
        assert api.post("/v1/access/check", {"contentId": item.pk, "requester": f"org_{number}"}).status == 200
        for query in ("", f"contentId={item.pk}", "reason=no_policy", "created[gte]=2020-01-01"):
            assert api.get(f"/v1/access/decisions?limit=1&{query}".strip("&"))["totalCount"] == number
    assert api.get("/v1/access/decisions", limit=1, requesterId="org_1", count="exact")["totalCount"] == 1


def test_rollups_that_take_too_long_leave_an_estimate(api, account, monkeypatch):
    item = factories.content(account)
    for number in range(3):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": f"org_{number}"})

    def fail(*_):
        raise TookTooLong

    for module in ("analytics.usage.matching", "kit.rest.lists.counting"):
        monkeypatch.setattr(f"{module}.number_within", fail)
    page = api.get("/v1/access/decisions", limit=1)
    assert (page.status, page["hasMore"], page["totalCountIsExact"]) == (200, True, False)
    assert page["totalCount"] >= 2
