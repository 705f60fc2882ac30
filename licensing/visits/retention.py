"""Deletes counts of pages after PAGE_RETENTION_DAYS. Those of all pages are few, and stay."""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.models import Account
from kit.storage.reading import stored_now
from kit.storage.sqlite_turns import turn_to_write
from licensing.visits.models import EdgeUsage, Page, PageDay, ReferralDay, UsageKind, VisitsCounted

CHUNK = 1_000  # rows that a transaction deletes


def purge_pages() -> int:
    """Delete old counts of each account, and then pages without counts. Returns the number of counts."""
    first = stored_now().date() - timedelta(days=settings.PAGE_RETENTION_DAYS)
    kinds = [kind for kind in UsageKind if kind.has_page]
    old = EdgeUsage.objects.filter(kind__in=kinds, day__lt=first).order_by("day")
    deleted = 0
    for account in Account.objects.values_list("pk", flat=True):
        while chunk := list(old.filter(account_id=account).values_list("pk", flat=True)[:CHUNK]):
            with turn_to_write(), transaction.atomic():
                deleted += EdgeUsage.objects.filter(pk__in=chunk).delete()[0]
    purge_unused()
    return deleted


def purge_unused() -> None:
    """Delete the pages without counts. The lock keeps a count from using them meanwhile."""
    tables = (EdgeUsage, PageDay, ReferralDay)
    unused = [~Exists(model._default_manager.filter(page=OuterRef("pk"))) for model in tables]
    last = 0
    while chunk := list(Page.objects.filter(*unused, pk__gt=last).order_by("pk").values_list("pk", flat=True)[:CHUNK]):
        last = chunk[-1]
        with turn_to_write(), transaction.atomic():
            list(VisitsCounted.objects.select_for_update())
            Page.objects.filter(*unused, pk__in=chunk).delete()
