"""Tells whether the visits of a site come from few networks, as behind a CDN that hides the addresses of visitors."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models.fields.json import KT

from analytics.models import AccessEvent
from kit.values.networks import truncate_address
from licensing.access.filters import recorded_fact
from licensing.sites.identification import Identification
from licensing.sites.models import Site

MAX_SEARCHED_DECISIONS = 5_000  # newest decisions of the account, because they have no index by site
# Visits to compare.
MAX_VISITS = 1_000
MIN_VISITS = 50
MAX_SHARED_NETWORKS = 5
SHARED_FRACTION = 0.95
VERIFIED_BY_ADDRESS = frozenset({Identification.ADDRESS, Identification.REVERSE_DNS})  # verify a crawler


class Visit(NamedTuple):
    """A visit. `address` is truncated for people, and whole for crawlers."""

    created: datetime
    requester: int | str
    address: str | None
    user_agent: str | None
    identified_by: str | None

    @property
    def network(self) -> str | None:
        """The first address of the network, as it is stored for people; None if it has verified a crawler."""
        is_verified = self.identified_by in VERIFIED_BY_ADDRESS
        return None if is_verified or not self.address else truncate_address(self.address)


def newest_visits(site: Site) -> list[Visit]:
    """Return the site's newest decisions, without imported ones, among MAX_SEARCHED_DECISIONS of the account."""
    newest = AccessEvent.objects.filter(account_id=site.account_id).order_by("-created", "-pk")[
        :MAX_SEARCHED_DECISIONS
    ]
    visits_of_site = AccessEvent.objects.filter(recorded_fact("siteId")([site.pk]), pk__in=newest.values("pk"))
    rows = visits_of_site.exclude(facts__has_key="imported").order_by("-created", "-pk")
    facts = [KT(f"facts__{name}") for name in ("ip", "userAgent", "identifiedBy")]
    return [Visit(*row) for row in rows.values_list("created", "requester_id", *facts)[:MAX_VISITS]]


def find_proxy_networks(visits: Sequence[Visit]) -> list[str]:
    """Return the few networks that nearly all visits have, if different visitors share each; otherwise none.

    Visitors differ by requester or User-Agent: people are one requester.
    """
    if len(visits) < MIN_VISITS:
        return []
    visitors = defaultdict(set)
    for visit in visits:
        visitors[visit.network].add((visit.requester, visit.user_agent))
    busiest = Counter(visit.network for visit in visits).most_common(MAX_SHARED_NETWORKS)
    shared = {network: count for network, count in busiest if network and len(visitors[network]) > 1}
    return sorted(shared) if sum(shared.values()) >= SHARED_FRACTION * len(visits) else []


def describe_networks(networks: Sequence[str]) -> str:
    """Return the networks as they are stored, for a sentence."""
    return f"the network{'s' if networks[1:] else ''} of {', '.join(networks)}"
