"""Merges the counts of pages that earlier versions recorded under http into those of their https pages.

Runs daily, because processes of the earlier version still count under http during an upgrade.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Left
from django.db.models.lookups import Exact

from kit.storage.sqlite_turns import turn_to_write
from kit.values.pages import with_https
from licensing.visits.models import Page, PageDay, ReferralDay, VisitsCounted
from licensing.visits.pages import (
    Found,
    PageName,
    Referred,
    VisitKey,
    add_referrals,
    add_visits,
    keep_urls,
    stored_pages,
)

PAGES = 100  # that are merged together
CHUNK = 1_000  # most rows of each table that a transaction moves


def merge_http_pages() -> int:
    """Move all counts to the https pages and delete the http pages. Returns the number of pages deleted."""
    return sum(deleted for _, deleted in merge_chunks())


def merge_chunks() -> Iterator[tuple[int, int]]:
    """Do the same in steps. Each yields how many pages it has read and deleted."""
    last = 0
    while pages := {page.pk: page for page in http_pages().filter(pk__gt=last).order_by("pk")[:PAGES]}:
        last = max(pages)
        while move_counts(pages):
            pass
        yield len(pages), delete_unused(pages)


def count() -> int:
    """Return the number of http pages."""
    return http_pages().count()


def http_pages() -> QuerySet[Page]:
    return Page.objects.filter(Exact(Left("url", len("http:")), "http:"))


def move_counts(pages: Mapping[int, Page]) -> bool:
    """Move some counts of these pages. Returns whether there were any."""
    with turn_to_write(), transaction.atomic():
        list(VisitsCounted.objects.select_for_update())  # locks out other writers of counts
        days = list(PageDay.objects.filter(page__in=pages)[:CHUNK])
        referrals = list(ReferralDay.objects.filter(page__in=pages)[:CHUNK])
        if not days and not referrals:
            return False
        PageDay.objects.filter(pk__in=[row.pk for row in days]).delete()
        ReferralDay.objects.filter(pk__in=[row.pk for row in referrals]).delete()
        urls = {pk: with_https(page.url) for pk, page in pages.items()}
        targets = keep_targets({(page.account_id, urls[pk]): page.site_id for pk, page in pages.items()})
        visits = {
            VisitKey(row.account_id, row.day, urls[row.page_id], row.requester_id, row.identified_by): Found(
                row.visits, None, row.violations
            )
            for row in days
        }
        add_visits(visits, targets)
        sent = Counter[Referred]()
        for row in referrals:
            sent[Referred(row.account_id, row.day, urls[row.page_id], row.host)] += row.referrals
        add_referrals(sent, targets)
    return True


def keep_targets(sites: Mapping[PageName, str | None]) -> dict[PageName, int]:
    """Create the https pages that are new. The others keep their site, which may have decided later."""
    there = {(page.account_id, page.url) for page in stored_pages(sites)}
    return keep_urls({name: None if name in there else site for name, site in sites.items()})


def delete_unused(pages: Mapping[int, Page]) -> int:
    """Delete the pages without counts. A process of the earlier version may have added some again."""
    with turn_to_write(), transaction.atomic():
        list(VisitsCounted.objects.select_for_update())
        return Page.objects.filter(pk__in=pages, days=None, referrals=None).delete()[0]
