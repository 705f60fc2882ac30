"""System check of the addresses of visitors, which `check --deploy` runs."""

from django.core.checks import CheckMessage, register
from django.core.checks import Warning as Weakness
from django.db import DatabaseError

from licensing.sites.models import Site
from licensing.visits.proxy_networks import describe_networks, find_proxy_networks, newest_visits

MAX_SITES = 100  # that are checked, the newest ones


@register(deploy=True)
def visitors_have_addresses(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    return [
        Weakness(
            f"Nearly all of the latest visits to {host} came from {describe_networks(networks)}.",
            hint="If that is a CDN or a load balancer: docs/reference/edge.md, Behind a CDN.",
            id="licensing.W001",
        )
        for host, networks in find_hidden_visitors()
    ]


def find_hidden_visitors() -> list[tuple[str, list[str]]]:
    """Return the hosts of sites whose visitors share networks, with these."""
    try:
        sites = Site.objects.order_by("-created", "-pk")[:MAX_SITES]
        sites_with_networks = [(site.host, find_proxy_networks(newest_visits(site))) for site in sites]
    except DatabaseError:  # it cannot be reached, or is not migrated: both are reported elsewhere
        return []
    return [(host, networks) for host, networks in sites_with_networks if networks]
