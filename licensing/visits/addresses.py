"""Whether the visits of a site come from few addresses, as behind a CDN that hides those of visitors.

`check --deploy` warns of such sites.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.core.checks import CheckMessage, register
from django.core.checks import Warning as Weakness
from django.db import DatabaseError
from django.db.models.fields.json import KT

from analytics.models import AccessEvent
from licensing.access.filters import recorded_fact
from licensing.sites.models import Site

SEARCHED = 5_000  # newest decisions of the account, because they have no index by site
MOST_VISITS, LEAST_VISITS = 1_000, 50  # to compare
FEW = 5
NEARLY_ALL = 0.95
MOST_SITES = 100  # that are checked, the newest ones


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


@register(deploy=True)
def visitors_have_addresses(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    return [
        Weakness(
            f"Nearly all of the latest visits to {host} came from {', '.join(addresses)}.",
            hint="If that is a CDN or a load balancer: docs/reference/edge.md, Behind a CDN.",
            id="licensing.W001",
        )
        for host, addresses in find_hidden_visitors()
    ]


def find_hidden_visitors() -> list[tuple[str, list[str]]]:
    """Return the hosts of sites whose visitors share addresses, with these."""
    try:
        sites = Site.objects.order_by("-created", "-pk")[:MOST_SITES]
        pairs = [(site.host, shared_addresses(newest_visits(site))) for site in sites]
    except DatabaseError:  # it cannot be reached, or is not migrated: both are reported elsewhere
        return []
    return [(host, addresses) for host, addresses in pairs if addresses]
