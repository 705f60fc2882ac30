"""Tells whether the visits of a site come from few addresses, as behind a CDN that hides those of visitors."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models.fields.json import KT

from analytics.models import AccessEvent
from licensing.access.filters import recorded_fact
from licensing.sites.models import Site

SEARCHED = 5_000  # newest decisions of the account, because they have no index by site
MOST_VISITS, LEAST_VISITS = 1_000, 50  # to compare
FEW = 5
NEARLY_ALL = 0.95


class Visit(NamedTuple):
    created: datetime
    address: str | None  # truncated, of people
    requester: int


def newest_visits(site: Site) -> list[Visit]:
    """Return the site's newest decisions, without imported ones, among the newest SEARCHED of the account."""
    newest = AccessEvent.objects.filter(account_id=site.account_id).order_by("-created", "-pk")[:SEARCHED]
    own = AccessEvent.objects.filter(recorded_fact("siteId")([site.pk]), pk__in=newest.values("pk"))
    rows = own.exclude(facts__has_key="imported").order_by("-created", "-pk")
    return [Visit(*row) for row in rows.values_list("created", KT("facts__ip"), "requester_id")[:MOST_VISITS]]


def shared_addresses(visits: Sequence[Visit]) -> list[str]:
    """Return the few addresses that nearly all visits have, if different visitors share each; otherwise none."""
    requesters = defaultdict(set)
    for visit in visits:
        requesters[visit.address].add(visit.requester)
    busiest = Counter(visit.address for visit in visits).most_common(FEW)
    shared = {address: count for address, count in busiest if address and len(requesters[address]) > 1}
    if len(visits) < LEAST_VISITS or sum(shared.values()) < NEARLY_ALL * len(visits):
        return []
    return list(shared)
