"""The newest decisions of a window, and advice on those that were denied because no policy applied."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Expression, F, QuerySet, Subquery, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce, TruncSecond
from django.http import HttpRequest
from msgspec import Struct

from analytics.events.partitions import first_decision_id
from analytics.models import AccessEvent
from analytics.windows import DAY, Window
from kit.storage.by_database import by_database
from licensing.content.models import Content
from licensing.policies.decision import Reason
from licensing.sites.models import Site
from operators.base.figures.choice import FigureSelection, window_filter
from operators.base.links import change_url, list_url

MAX_SCANNED = 10_000  # newest decisions to search
NO_SITE = ""


def newest_decisions(
    account_ids: Sequence[str], window: Window, limit: int
) -> tuple[QuerySet[AccessEvent], Expression | Subquery]:
    """Return the accounts' decisions among the newest `limit`, and since when they count: null for the whole window.

    For one account these are its own, by index; for several, the newest of all accounts, so that busy other accounts
    cost no more.
    """
    first = first_decision_id(window.start - DAY)
    events = AccessEvent.objects.filter(pk__gte=first, created__gte=window.start, created__lt=window.end)
    account_events = events.filter(account_id__in=list(account_ids))
    if len(account_ids) == 1:
        in_order = account_events.order_by("-created", "-pk")
    else:
        in_order = events.order_by("-pk")
    second = timedelta(seconds=1)
    oldest = in_order[limit - 1 : limit]
    rounded = in_order.annotate(rounded=TruncSecond(F("created") + second, tzinfo=UTC))
    since: Expression | Subquery = by_database(
        postgresql=TruncSecond(Subquery(oldest.values("created")) + second, tzinfo=UTC),
        # Outside the subquery, Django's function would run for each decision.
        sqlite=Subquery(rounded.values("rounded")[limit - 1 : limit]),
    )
    bounded = account_events.filter(
        created__gte=Coalesce(since, Value(window.start)),
        pk__gte=Coalesce(Subquery(oldest.values("pk")), Value(first, output_field=AccessEvent._meta.pk)),
    )
    return bounded, since


def newest_since(account_ids: Sequence[str], since: datetime, limit: int) -> QuerySet[AccessEvent]:
    """Return the accounts' newest `limit` decisions since a time, and those of the same moment as the oldest."""
    first = first_decision_id(since - DAY)
    recent = AccessEvent.objects.filter(account_id__in=account_ids, created__gte=since, pk__gte=first)
    if len(account_ids) == 1:
        oldest = recent.order_by("-created", "-pk").values("created")[limit - 1 : limit]
        return recent.filter(created__gte=Coalesce(Subquery(oldest), Value(since)))
    key = recent.order_by("-pk").values("pk")[limit - 1 : limit]
    return recent.filter(pk__gte=Coalesce(Subquery(key), Value(first, output_field=AccessEvent._meta.pk)))


class Notice(Struct, frozen=True):
    text: str
    link: str


def notices_without_policy(request: HttpRequest, choice: FigureSelection, window: Window, count: int) -> list[Notice]:
    """Return the notices about `count` denials of the window, by what would open the page or item.

    Pages are counted among the newest MAX_SCANNED decisions. The other denials are of items.
    """
    decisions = list_url(
        AccessEvent, outcome=Reason.NO_POLICY, **choice.account_filter, **window_filter("created", window)
    )
    pages = unknown_pages(choice, window)
    notices = []
    if items := max(count - pages.total(), 0):
        denied = "decision was denied" if items == 1 else "decisions were denied"
        may_see = request.user.has_perm("licensing.view_content")
        link = list_url(Content, linked="no", **choice.account_filter) if may_see else decisions
        notices.append(Notice(f"{items:,} {denied} because the item had no policy. Link one.", link))
    if others := pages.pop(NO_SITE, 0):
        denied = "requests were denied because their hosts have no site"
        if others == 1:
            denied = "request was denied because its host has no site"
        notices.append(Notice(f"{others:,} {denied}. Add one, or let the account allow other hosts.", decisions))
    if pages:
        notices.append(notice_of_sites(request, pages, decisions))
    return notices


def unknown_pages(choice: FigureSelection, window: Window) -> Counter[str]:
    """Return how many requests for pages without an item were denied, by site id; NO_SITE for hosts without one."""
    newest, _ = newest_decisions(choice.account_ids, window, MAX_SCANNED)
    decisions = newest.filter(
        reason=Reason.NO_POLICY, content__deleted_at__isnull=False, facts__has_key="url"
    ).order_by()
    rows = decisions.values_list(KT("facts__siteId")).annotate(number=Count("pk"))
    return Counter({site or NO_SITE: number for site, number in rows})


def notice_of_sites(request: HttpRequest, pages: Counter[str], decisions: str) -> Notice:
    """Return the notice about requests for unknown pages. They are counted by site id."""
    may_see = request.user.has_perm("licensing.view_site")
    number = pages.total()
    denied = "request was denied" if number == 1 else "requests were denied"
    where = f"{len(pages):,} sites deny"
    link = list_url(Site)
    if len(pages) == 1:
        site = Site.objects.filter(pk=next(iter(pages))).first()
        if site is None:
            where = "a site denies"
            link = decisions
        else:
            where = f"{site.host} denies"
            link = change_url(site)
    text = f"{number:,} {denied} because {where} unknown pages. Change its setting, or add a pattern with a policy."
    return Notice(text, link if may_see else decisions)
