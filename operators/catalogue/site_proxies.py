"""Describes a site's proxies for its page: when one last asked, and with which keys they are refused.

It warns if a proxy seems to send the addresses of a CDN instead of those of visitors.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta

from django.utils import timezone
from django.utils.html import format_html, format_html_join

from accounts.keys import states as key_states
from accounts.models import ApiKey
from licensing.edge.proxies.downloads import GET_IT_AGAIN, downloads_by_proxy, outdated_downloads
from licensing.edge.proxies.page_access import describe
from licensing.sites.models import Site
from licensing.sites.other_hosts import recent_hosts
from licensing.visits.proxy_networks import (
    MAX_SEARCHED_DECISIONS,
    Visit,
    describe_networks,
    find_proxy_networks,
    newest_visits,
)
from operators.access.proxy_refusals import NO_REFUSAL, refusal_in_words, refusal_of_site
from operators.base.links import change_url
from operators.base.times import shown_time

QUIET_AFTER = timedelta(hours=1)
MAX_NAMED_HOSTS = 10
OTHER_HOSTS = (
    "Visitors asked in the last 30 days for hosts without a site: {}. A key with hosts of its own refuses them. If "
    "one is another name of this site, add it to the aliases."
)
REFUSED_WHILE_DOWN = "Refused while the service is down, although everybody may read them:"
SEE_PROXY_FILES = "Proxy files says why."
WHAT_TO_DO = (
    "If people visit the site, its proxy may have a wrong key, or not reach the service: see the service’s log."
)


def last_question(site: Site) -> str:
    """Return when a proxy last asked about a page of the site, with advice if something seems wrong with it."""
    visits = newest_visits(site)
    if not visits:
        return format_html(
            "None of the account’s latest {} decisions is about it. {}", f"{MAX_SEARCHED_DECISIONS:,}", WHAT_TO_DO
        )
    if visits[0].created < timezone.now() - QUIET_AFTER:
        return format_html("No proxy has asked since {}. {}", shown_time(visits[0].created), WHAT_TO_DO)
    return format_html("{}{}", shown_time(visits[0].created), warning_about_addresses(visits))


def warning_about_addresses(visits: Sequence[Visit]) -> str:
    """Return a warning if nearly all visits come from few networks, each of them shared by different visitors."""
    networks = find_proxy_networks(visits)
    if not networks:
        return ""
    return format_html(
        ". Nearly all of the latest {} visits came from {}. If that is a CDN or a load balancer, the proxy’s file "
        "needs its addresses: without them no crawler is verified, and limits per visitor count all visitors as one.",
        f"{len(visits):,}",
        describe_networks(networks),
    )


def proxy_file_state(site: Site, outdated: Collection[str]) -> str:
    """Return when the file was last downloaded for each proxy, and for which of them it would differ now."""
    downloads = downloads_by_proxy(site)
    if not downloads:
        return "The service knows of no download."
    lines = []
    for proxy, download in sorted(downloads.items()):
        state = "changed since it was downloaded" if proxy in outdated else "downloaded"
        lines.append((proxy, state, shown_time(download.at)))
    listed = format_html_join("", "<p>{}: {} at {}.</p>", lines)
    return format_html("{}<p>{}</p>", listed, GET_IT_AGAIN) if outdated else listed


def proxy_file_summary(site: Site) -> str:
    """Return the state of the downloaded files, and which open patterns their proxies refuse in an outage."""
    if not downloads_by_proxy(site):
        return proxy_file_state(site, ())
    pages = describe(site)
    state = proxy_file_state(site, outdated_downloads(site, pages))
    if not pages.omitted:
        return state
    patterns = format_html_join(", ", "<code>{}</code>", ((pattern,) for pattern, _ in pages.omitted))
    return format_html("{}<p>{} {}. {}</p>", state, REFUSED_WHILE_DOWN, patterns, SEE_PROXY_FILES)


def refused_proxies(site: Site) -> str:
    """List the keys for the site's hosts with which a proxy was refused, each with since when and why.

    Before them the proxy whose key is unknown, or for other hosts; after them the hosts that have no site.
    """
    refused = ApiKey.objects.filter(key_states.is_refused(timezone.now()), account_id=site.account_id)
    lines = []
    for key in refused.order_by("-refused_at", "pk"):
        if not key.allowed_hosts or not set(key.allowed_hosts).isdisjoint(site.hosts):  # without hosts it is for all
            lines.append((change_url(key), key, refusal_in_words(key)))
    listed = format_html_join("", '<p><a class="text-link" href="{}">{}</a> {}</p>', lines)
    refusal = refusal_of_site(site)
    if refusal:
        listed = format_html("<p>{}</p>{}", refusal, listed)
    hosts = recent_hosts(site.account_id)
    if hosts:
        listed = format_html("{}<p>{}</p>", listed, OTHER_HOSTS.format(", ".join(hosts[:MAX_NAMED_HOSTS])))
    return listed or NO_REFUSAL
