"""Lists and exports of decisions read in growing windows of time by filters without an index (PostgreSQL)."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from analytics.models import AccessEvent
from kit.rest.lists import windows
from kit.values import ids
from tests import factories

PATH = "/v1/access/decisions"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def decisions(account, monkeypatch) -> list[AccessEvent]:
    """Decisions at irregular times, some at the same; a tenth denied. Oldest first."""
    monkeypatch.setattr(windows, "FIRST_ROWS", 3)
    draw = random.Random(5)
    item, requester = factories.content(account), factories.requester(account)
    made = []
    for number in range(80):
        moment = BEGIN + timedelta(seconds=draw.choice([1, 1, 60, 3600, 86_400]) * (number // 2))
        denied = draw.random() < 0.1
        made.append(
            AccessEvent(
                id=ids.new_id("dec"),
                account=account,
                content=item,
                requester=requester,
                allowed=not denied,
                reason="no_policy" if denied else None,
                facts={"url": f"https://example.com/{number % 3}"},
                created=moment,
            )
        )
    AccessEvent.objects.bulk_create(made)
    return sorted(made, key=lambda one: (one.created, one.pk))


@pytest.mark.parametrize("sort", ["-created", "created"])
@pytest.mark.parametrize("limit", [1, 4, 100])
@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("reason=no_policy", lambda one: one.reason == "no_policy"),
        ("allowed=true", lambda one: one.allowed),
        ("url=https://example.com/1", lambda one: one.facts["url"].endswith("1")),
        ("reason=no_license", lambda one: False),
        (
            "allowed=true&created[gte]=2026-01-03&created[lt]=2026-01-20",
            lambda one: one.allowed and 3 <= day_of(one) < 20,
        ),
    ],
    ids=["rare", "usual", "fact", "none", "time"],
)
def test_every_match_is_on_one_page_in_order(api, decisions, query, matches, limit, sort):
    wanted = [one.pk for one in decisions if matches(one)]
    found, path = [], f"{PATH}?{query}&limit={limit}&sort={sort}"
    while path:
        page = api.get(path)
        assert page.status == 200
        assert (
            page["totalCount"] == len(wanted) or "reason" in query or "allowed" in query
        )  # rollups know none of these
        found += [one["id"] for one in page["data"]]
        assert page["hasMore"] is ("nextCursor" in page.body)
        path = f"{PATH}?{query}&limit={limit}&sort={sort}&cursor={page['nextCursor']}" if page["hasMore"] else None
    assert found == (wanted if sort == "created" else wanted[::-1])


def day_of(one: AccessEvent) -> int:
    return (one.created - BEGIN).days + 1


def test_an_export_has_every_match(api, decisions):
    lines = api.get(f"{PATH}?allowed=true&format=jsonl").content.decode().splitlines()
    assert len(lines) == sum(one.allowed for one in decisions)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no statistics to be wrong")
def test_no_more_than_the_windows_needed_are_read(api, decisions, django_assert_max_num_queries):
    api.get(f"{PATH}?allowed=true&limit=1&count=none")
    with django_assert_max_num_queries(12) as seen:
        api.get(f"{PATH}?allowed=true&limit=1&count=none")
    read = [one["sql"] for one in seen.captured_queries if '"facts"' in one["sql"]]
    assert len(read) == 1
    assert '"created" > ' in read[0]
