"""Look up sites with what decides their pages: rules, and the versions of the rules' policies."""

from collections.abc import Collection

from django.db.models import Prefetch

from kit.bounded_cache import BoundedCache
from kit.storage.postgresql.timelines import empty_on_promotion
from licensing.policies.models import Policy
from licensing.sites.models import Site

VERSIONS = Prefetch("rules__policy", Policy.objects.only("version"))
MAX_KEPT = 16 * 1024 * 1024  # bytes of sites in memory
BYTES_OF_MODEL = 1_000  # of a site, a rule or a policy, approximately
BYTES_OF_PART = 60  # of a compiled pattern


def weigh(site: Site) -> int:
    rules = [rule.pattern for rule in site.rules.all()]
    parts = sum(pattern.count("*") for pattern in rules)
    return BYTES_OF_MODEL + 2 * BYTES_OF_MODEL * len(rules) + 2 * sum(map(len, rules)) + BYTES_OF_PART * parts


# By account, its epoch and host. Every change of a site or policy raises the epoch, so a site that was read after an
# epoch is the same for as long as the account has that epoch.
kept: BoundedCache[tuple[str, int, str], Site] = BoundedCache(weigh, MAX_KEPT)
empty_on_promotion(kept.clear)


def known_site(account_id: str, epoch: int, host: str) -> Site | None:
    """Return the account's site if this process has read it at this epoch."""
    return kept.get((account_id, epoch, host))


def find_sites(account_id: str, hosts: Collection[str], epoch: int | None = None) -> dict[str, Site]:
    """Return the account's sites by host. With `epoch`, which the caller read first, sites read before serve again."""
    known = {host: known_site(account_id, epoch, host) for host in hosts} if epoch is not None else {}
    found = {host: site for host, site in known.items() if site is not None}
    if missing := set(hosts) - found.keys():
        owned = Site.objects.filter(account_id=account_id, host__in=missing).defer("robots_txt")
        for site in owned.prefetch_related(VERSIONS):
            found[site.host] = site
            if epoch is not None:
                kept.put((account_id, epoch, site.host), site)
    return found
