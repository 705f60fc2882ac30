"""Look up sites with what decides their pages: rules, and the versions of the rules' policies."""

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Prefetch

from kit.bounded_cache import BoundedCache
from kit.storage.postgresql.timelines import empty_on_promotion
from kit.values.hosts import host_of_header
from licensing.policies.models import Policy
from licensing.sites.models import Site, at_hosts

VERSIONS = Prefetch("rules__policy", Policy.objects.only("version"))
MAX_SITE_BYTES = 16 * 1024 * 1024  # bytes of sites in memory
BYTES_OF_MODEL = 1_000  # of a site, a rule or a policy, approximately
BYTES_OF_PART = 60  # of a compiled pattern
MAX_HOST_CHARACTERS = 2 * 1024 * 1024  # characters


def size_in_bytes(site: Site) -> int:
    rules = [rule.pattern for rule in site.rules.all()]
    parts = sum(pattern.count("*") for pattern in rules)
    return BYTES_OF_MODEL + 2 * BYTES_OF_MODEL * len(rules) + 2 * sum(map(len, rules)) + BYTES_OF_PART * parts


# By account, its epoch and host. Every change of a site or policy raises the epoch, so a site that was read after an
# epoch is the same for as long as the account has that epoch.
cached_sites: BoundedCache[tuple[str, int, str], Site] = BoundedCache(size_in_bytes, MAX_SITE_BYTES)
empty_on_promotion(cached_sites.clear)
# By account and host: all hosts of its site when that was last found, if there were several.
hosts_of_site_cache: BoundedCache[tuple[str, str], tuple[str, ...]] = BoundedCache(
    lambda hosts: sum(map(len, hosts)), MAX_HOST_CHARACTERS
)


def probable_hosts(account_id: str, host: str) -> tuple[str, ...]:
    """Return the hosts that probably share their pages with this one. Compare them with those of its site."""
    return hosts_of_site_cache.get((account_id, host)) or (host,)


def cached_site(account_id: str, epoch: int, host: str) -> Site | None:
    """Return the account's site if this process has read it at this epoch."""
    return cached_sites.get((account_id, epoch, host))


def find_sites(account_id: str, hosts: Collection[str], epoch: int | None = None) -> dict[str, Site]:
    """Return the account's sites by their hosts and aliases.

    With `epoch`, which the caller read first, sites read before serve again.
    """
    sites: dict[str, Site] = {}
    if epoch is not None:
        for host in hosts:
            site = cached_site(account_id, epoch, host)
            if site is not None:
                sites[host] = site
    missing = set(hosts) - sites.keys()
    if missing:
        rows = Site.objects.filter(at_hosts(missing), account_id=account_id).defer("robots_txt")
        for site in rows.prefetch_related(VERSIONS, "aliases"):
            for host in missing.intersection(site.hosts):
                sites[host] = site
                if epoch is not None:
                    cached_sites.put((account_id, epoch, host), site)
    remember_hosts(account_id, hosts, sites)
    return sites


def remember_hosts(account_id: str, hosts: Collection[str], sites: Mapping[str, Site]) -> None:
    """Let `probable_hosts` know the hosts of these sites."""
    for host in hosts:
        site_hosts = sites[host].hosts if host in sites else (host,)
        if probable_hosts(account_id, host) != site_hosts:
            hosts_of_site_cache.put((account_id, host), site_hosts)


def is_own_host(host: str) -> bool:
    """Return whether the host is the service's own, by BASE_URL or ALLOWED_HOSTS. Such a host cannot be a site.

    Whole domains and `*` in ALLOWED_HOSTS do not count.
    """
    names = [urlsplit(settings.BASE_URL).netloc, *settings.ALLOWED_HOSTS]
    return host in {host_of_header(name) for name in names}
