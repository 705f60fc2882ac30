"""Pages of decisions that are in the archive."""

import random
from datetime import UTC, datetime

import pytest

from analytics.archive import dropping
from analytics.archive.copying import update_archive
from analytics.archive.dropping import drop_archived
from analytics.archive.horizon import horizon_cache
from analytics.events.partitions import ensure_partitions, month_after, month_start
from analytics.models import AccessEvent
from licensing.policies.decision import Reason
from tests import factories
from tests.analytics.recording import record_all, some_events
from tests.archived import BEGIN, NOW

LIST = "/v1/access/decisions"
HORIZON = datetime(2026, 2, 1, tzinfo=UTC)
SITE = "site_01k9z8q4v5e8rbn3w6y7t2m1xd"
URLS = ["https://pub.example/a", "http://pub.example/a", "https://pub.example/a/b", 'https://pub.example/"ü"']


def move_to_archive(now=NOW):
    update_archive(now)
    drop_archived(now, now)
    if now == NOW:
        assert not AccessEvent.objects.filter(created__lt=HORIZON).exists()


def pages(api, query, limit):
    """Return all pages of a list, as they were sent."""
    found, cursor = [], {}
    while True:
        page = api.get(f"{LIST}?{query}&limit={limit}" + "".join(f"&cursor={one}" for one in cursor.values()))
        found.append(page.content)
        if not page["hasMore"]:
            return found
        cursor = {"cursor": page["nextCursor"]}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(dropping, "GRACE_SECONDS", 0)
    horizon_cache.clear()
    yield
    horizon_cache.clear()


@pytest.fixture
def events(account):
    """Decisions of four months with policies and facts of every kind."""
    for month in range(3):
        ensure_partitions(month_after(month_start(BEGIN), month), months_ahead=0)
    record_all(some_events(account, 300, BEGIN, 80, seed=11))
    draw, policy = random.Random(5), factories.policy(account)
    for event in AccessEvent.objects.all():
        event.facts = {
            "contentType": "article",
            **({"url": draw.choice(URLS)} if draw.random() < 0.9 else {}),
            "identifiedBy": draw.choice(["signature", "address"]),
            "keyId": "key_1",
            "attributes": {"seats": 1e22, "share": 0.1, "trial": False, "team": "\U0001f5de"},
            **({"siteId": SITE, "referrer": "chatgpt.com"} if draw.random() < 0.3 else {}),
        }
        if draw.random() < 0.5:
            event.policy_id, event.policy_version, event.rule_index = policy.pk, 1, 1
        event.save()
    return AccessEvent.objects.order_by("created", "pk")


def filters(events):
    one, other = events[0], events[100]
    middle = events[150].created.isoformat().replace("+00:00", "Z")
    name = one.requester.requester_id
    return [
        "", f"contentId={one.content_id}", f"contentId[ne]={one.content_id}",
        f"contentId[in]={one.content_id},{other.content_id}", f"requesterId={name}", f"requesterId[ne]={name}",
        "requesterId=nobody", "requesterId[ne]=nobody", "policyId[exists]=true", "policyId[exists]=false",
        "allowed=true", "allowed[ne]=true", f"reason={Reason.NO_LICENSE}", f"reason[ne]={Reason.NO_LICENSE}",
        "allowed=true&reason[exists]=true", f"created={middle}", f"created[ne]={middle}", f"created[in]={middle}",
        f"created[gt]={middle}", f"created[lte]={middle}", "created[gte]=2025-12-01&created[lt]=2026-01-15T12:30:00Z",
        "created[lt]=2026-02-02T10:00:00Z&created[gt]=2026-01-31", "url=https://pub.example/a",
        "url[in]=https://pub.example/a/b,https://nowhere.example", "url[prefix]=http://pub.example/a",
        "url[prefix]=", "url=", 'url=https://pub.example/"ü"', f"siteId={SITE}", "identifiedBy=signature",
        f"identifiedBy=address&referrer=chatgpt.com&allowed=false&contentId[ne]={one.content_id}",
    ]  # fmt: skip
