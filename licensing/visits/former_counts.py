"""Moves what the version before has counted to EdgeUsage, and its http pages to the https pages.

Runs daily, because processes of the version before still count in their tables during an upgrade. Both versions count
up to the same moment, so that each decision is counted once. Will be removed with the tables.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC

from django.db import transaction

from kit.storage.sqlite_turns import turn_to_write
from kit.values.calendar import start_of_day
from kit.values.canonical_pages import with_https
from licensing.visits.figures import Visits
from licensing.visits.models import Page, PageDay, ReferralDay, UsageKind, VisitorDay, VisitsCounted
from licensing.visits.pages import PageName, keep_urls, stored_pages
from licensing.visits.retention import purge_unused
from licensing.visits.usage import UsageKey, add_usage, add_visits

CHUNK = 1_000  # most rows that a transaction moves
TABLES = (VisitorDay, PageDay, ReferralDay)

Counts = dict[UsageKey, Visits]


def move_former_counts() -> int:
    """Move all counts. Returns their number."""
    return sum(count_former_rows for count_former_rows, _ in move_chunks())


def move_chunks() -> Iterator[tuple[int, int]]:
    """Do the same in steps. Each yields twice how many rows it has moved."""
    total = 0
    while chunk := move_chunk():
        total += chunk
        yield chunk, chunk
    if total:
        purge_unused()


def count_former_rows() -> int:
    """Return the number of rows to move."""
    return sum(model._default_manager.count() for model in TABLES)


def move_chunk() -> int:
    with turn_to_write(), transaction.atomic():
        list(VisitsCounted.objects.select_for_update())  # locks out other writers of counts
        visitors = list(VisitorDay.objects.order_by("pk")[:CHUNK])
        days = list(PageDay.objects.order_by("pk").select_related("page")[: CHUNK - len(visitors)])
        room = CHUNK - len(visitors) - len(days)
        referrals = list(ReferralDay.objects.order_by("pk").select_related("page")[:room])
        usage: Counts = {}
        add_visitors(usage, visitors)
        add_days(usage, days)
        add_referrals(usage, referrals)
        pages = [row.page for row in days] + [row.page for row in referrals]
        add_usage(usage, keep_pages(pages))
        for model, rows in ((VisitorDay, visitors), (PageDay, days), (ReferralDay, referrals)):
            model._default_manager.filter(pk__in=[row.pk for row in rows]).delete()
    return len(visitors) + len(days) + len(referrals)


def add_visitors(usage: Counts, rows: Sequence[VisitorDay]) -> None:
    for row in rows:
        key = UsageKey(
            row.account_id, UsageKind.VISITOR, row.day, requester=row.requester_id, identified_by=row.identified_by
        )
        add_visits(usage, key, Visits(row.allowed, row.observed, row.denied, row.last_seen))


def add_days(usage: Counts, rows: Sequence[PageDay]) -> None:
    """Add the visits to the pages, and the violations to the visitors, too."""
    for row in rows:
        url = with_https(row.page.url)
        key = UsageKey(row.account_id, UsageKind.VISITOR_OF_PAGE, row.day, url, row.requester_id, row.identified_by)
        add_visits(usage, key, Visits(row.allowed, row.observed, row.denied, row.last_seen, row.violations))
        if row.violations:
            visitor = key._replace(kind=UsageKind.VISITOR, url="")
            add_visits(usage, visitor, Visits(0, 0, 0, row.last_seen, row.violations))


def add_referrals(usage: Counts, rows: Sequence[ReferralDay]) -> None:
    """Add the referrals as allowed at the start of their day: answers and moments are unknown."""
    for row in rows:
        seen_at = start_of_day(row.day, UTC)
        key = UsageKey(row.account_id, UsageKind.REFERRER, row.day, referrer=row.host)
        add_visits(usage, key, Visits(row.referrals, 0, 0, seen_at))
        page = key._replace(kind=UsageKind.REFERRER_OF_PAGE, url=with_https(row.page.url))
        add_visits(usage, page, Visits(row.referrals, 0, 0, seen_at))


def keep_pages(pages: Sequence[Page]) -> dict[PageName, int]:
    """Create the https pages that are new. The others keep their site, which may have decided later."""
    sites = {(page.account_id, with_https(page.url)): page.site_id for page in pages}
    existing = {(page.account_id, page.url) for page in stored_pages(sites)}
    return keep_urls({name: None if name in existing else site for name, site in sites.items()})
