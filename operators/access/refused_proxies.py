"""Describes proxies that are refused, by key and by site: since when, when last, and why."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Min, Q
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from accounts.keys import states
from accounts.models import ApiKey
from analytics.models import AccessEvent
from licensing.access.filters import recorded_fact
from licensing.sites import refused_proxies
from licensing.sites.models import Site, at_hosts
from operators.access.key_pages import SEARCHED
from operators.base.links import change_url
from operators.base.times import shown_time

NO_REFUSAL = f"none in the last {states.REFUSED_WITHIN // timedelta(hours=1)} hours"
REFUSALS_END_AFTER = timedelta(minutes=2)  # a proxy that is visited each minute is refused at least as often


def refusal_in_words(key: ApiKey) -> str:
    """Return since when, when last, and why proxies are refused with the key, and since when one asks with a valid
    key again; empty if none is refused.
    """
    since = key.refused_since
    last = key.refused_at
    if since is None or last is None or not states.refuses_proxy(key, timezone.now()):
        return ""
    refused = format_html(
        "refused at the edge since {}, last at {}: {}", shown_time(since), shown_time(last), key.refusal
    )
    return with_end(refused, works_since(key))


def refusal_of_site(site: Site) -> str:
    """Return the same about a proxy whose key is unknown or for other hosts; empty if none is refused."""
    since = site.refused_since
    last = site.refused_at
    if since is None or last is None or last <= timezone.now() - refused_proxies.REFUSED_WITHIN:
        return ""
    works_again = site_works_since(site)
    sentence = "A proxy that asks about this site is refused since {}, last at {}: {}"
    if works_again is not None and not is_recent(last):  # the overview leaves it out
        sentence = "A proxy that asks about this site was refused from {} to {}: {}"
    refused = format_html(sentence, shown_time(since), shown_time(last), reason_at_site(site))
    return with_end(refused, works_again)


def refusals_at_sites(key: ApiKey) -> str:
    """Return the refusals with this key at sites that it is not for, each with the site."""
    is_refused = refused_proxies.is_refused(timezone.now())
    sites = Site.objects.filter(is_refused, account_id=key.account_id, refused_key=key.pk).order_by("host")
    rows = ((change_url(site), site, refusal_of_site(site)) for site in sites)
    return format_html_join("", '<p><a class="text-link" href="{}">{}</a>: {}</p>', rows)


def reason_at_site(site: Site) -> str:
    if site.refused_key is None:
        return f"{refused_proxies.UNKNOWN_KEY} Enter the site’s own key in the proxy’s file."
    advice = f"Enter the site’s own key in the proxy’s file, or add {site.host} to the hosts of this one"
    key = ApiKey.objects.filter(pk=site.refused_key, account_id=site.account_id).first()
    if key is None:
        return f"{refused_proxies.OTHER_KEY} {advice}."
    return format_html(
        '{} {}: <a class="text-link" href="{}">{}</a>.', refused_proxies.OTHER_KEY, advice, change_url(key), key
    )


def with_end(refused: str, works_again: datetime | None) -> str:
    """Add since when a proxy asks with a valid key again."""
    if works_again is None:
        return refused
    return format_html("{} A proxy has asked with a valid key since {}.", refused, shown_time(works_again))


def works_since(key: ApiKey) -> datetime | None:
    """Return when a proxy of the key's sites first asked with a valid key after its last refusal; None if none did."""
    at_its_hosts = at_hosts(key.allowed_hosts) if key.allowed_hosts else Q()
    sites = Site.objects.filter(at_its_hosts, account_id=key.account_id).values_list("pk", flat=True)
    return first_question(key.account_id, list(sites), key.refused_at)


def site_works_since(site: Site) -> datetime | None:
    return first_question(site.account_id, [site.pk], site.refused_at)


def first_question(account_id: str, site_ids: Collection[str], after: datetime | None) -> datetime | None:
    """Return when a proxy of the sites first asked with a valid key after this time; None if none did."""
    later = AccessEvent.objects.filter(account_id=account_id, created__gt=after)
    first = later.order_by("created", "pk")[:SEARCHED].values("pk")
    site_events = AccessEvent.objects.filter(recorded_fact("siteId")(list(site_ids)), pk__in=first)
    earliest: datetime | None = site_events.exclude(facts__has_key="imported").aggregate(at=Min("created"))["at"]
    return earliest


def is_over(key: ApiKey) -> bool:
    """Whether proxies work again: one asked with a valid key, and none was refused for REFUSALS_END_AFTER."""
    return not is_recent(key.refused_at) and works_since(key) is not None


def is_over_at_site(site: Site) -> bool:
    """Whether the site's proxies work again, likewise."""
    return not is_recent(site.refused_at) and site_works_since(site) is not None


def is_recent(refused_at: datetime | None) -> bool:
    return refused_at is not None and refused_at > timezone.now() - REFUSALS_END_AFTER
