"""Advice on decisions that were denied because no policy applied: to items, unknown pages and other hosts."""

from collections import Counter

from django.db.models import Count
from django.db.models.fields.json import KT
from django.http import HttpRequest
from msgspec import Struct

from analytics.models import AccessEvent
from analytics.windows import Window
from licensing.content.models import Content
from licensing.policies.decision import Reason
from licensing.sites.models import Site
from operators.base.figures.choice import Choice
from operators.base.figures.windows import days_of
from operators.base.links import change_url, list_url
from operators.overview.newest import MOST_SCANNED, newest_decisions

NO_SITE = ""


class Notice(Struct, frozen=True):
    text: str
    link: str


def notices_without_policy(request: HttpRequest, choice: Choice, window: Window, count: int) -> list[Notice]:
    """Return the notices about `count` denials of the window, by what would open the page or item.

    Pages are counted among the newest MOST_SCANNED decisions. The other denials are of items.
    """
    decisions = list_url(AccessEvent, outcome=Reason.NO_POLICY, **choice.account_filter, **days_of("created", window))
    pages = unknown_pages(choice, window)
    told = []
    if items := max(count - pages.total(), 0):
        asked = "decision was denied" if items == 1 else "decisions were denied"
        may_see = request.user.has_perm("licensing.view_content")
        link = list_url(Content, linked="no", **choice.account_filter) if may_see else decisions
        told.append(Notice(f"{items:,} {asked} because the item had no policy. Link one.", link))
    if others := pages.pop(NO_SITE, 0):
        asked = (
            "request was denied because its host has no site"
            if others == 1
            else ("requests were denied because their hosts have no site")
        )
        told.append(Notice(f"{others:,} {asked}. Add one, or let the account allow other hosts.", decisions))
    if pages:
        told.append(notice_of_sites(request, pages, decisions))
    return told


def unknown_pages(choice: Choice, window: Window) -> Counter[str]:
    """Return how many requests for pages without an item were denied, by site id; NO_SITE for hosts without one."""
    newest, _ = newest_decisions(choice.account_ids, window, MOST_SCANNED)
    found = newest.filter(reason=Reason.NO_POLICY, content__deleted_at__isnull=False, facts__has_key="url").order_by()
    rows = found.values_list(KT("facts__siteId")).annotate(number=Count("pk"))
    return Counter({site or NO_SITE: number for site, number in rows})


def notice_of_sites(request: HttpRequest, pages: Counter[str], decisions: str) -> Notice:
    """Return the notice about requests for unknown pages. They are counted by site id."""
    may_see = request.user.has_perm("licensing.view_site")
    number = pages.total()
    asked = "request was denied" if number == 1 else "requests were denied"
    site = Site.objects.filter(pk=next(iter(pages))).first() if len(pages) == 1 else None
    where, link = f"{len(pages):,} sites deny", list_url(Site)
    if len(pages) == 1:
        where, link = ("a site denies", decisions) if site is None else (f"{site.host} denies", change_url(site))
    text = f"{number:,} {asked} because {where} unknown pages. Change its setting, or add a pattern with a policy."
    return Notice(text, link if may_see else decisions)
