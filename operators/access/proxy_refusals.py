"""Refusals of proxies in words, by key and by site: since when, when last and why; and when one is over."""

from datetime import datetime, timedelta

from django.db.models import Min
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from accounts.keys import states
from accounts.models import ApiKey
from analytics.models import AccessEvent
from licensing.access.filters import recorded_fact
from licensing.sites import refused_proxies
from licensing.sites.models import Site, at_hosts
from operators.access.key_pages import MAX_SEARCHED
from operators.base.links import change_url, text_link
from operators.base.times import shown_time

NO_REFUSAL = f"none in the last {states.REFUSED_WITHIN // timedelta(hours=1)} hours"
OWN_KEY = "Enter the site’s own key in the proxy’s file, or in WordPress’ wp-config.php"
REFUSALS_END_AFTER = timedelta(minutes=2)  # a proxy that is visited each minute is refused at least as often


def refusal_in_words(key: ApiKey) -> str:
    """Return since when, when last, and why proxies are refused with the key, and since when one asks with a valid
    key again; empty if none is refused.
    """
    if not states.refuses_proxy(key, timezone.now()):
        return ""
    return describe_refusal("refused at the edge since {}, last at {}: {}", key, key.refusal, works_since(key))


def refusal_of_site(site: Site) -> str:
    """Return the same about a proxy whose key is unknown or for other hosts; empty if none is refused."""
    if site.refused_at is None or site.refused_at <= timezone.now() - refused_proxies.REFUSED_WITHIN:
        return ""
    works_again = works_since(site)
    sentence = "A proxy that asks about this site is refused since {}, last at {}: {}"
    if works_again is not None and not is_recent(site):  # the overview leaves it out
        sentence = "A proxy that asks about this site was refused from {} to {}: {}"
    return describe_refusal(sentence, site, reason_at_site(site), works_again)


def describe_refusal(sentence: str, refused: ApiKey | Site, reason: str | None, works_again: datetime | None) -> str:
    if refused.refused_since is None or refused.refused_at is None:
        return ""
    description = format_html(sentence, shown_time(refused.refused_since), shown_time(refused.refused_at), reason)
    if works_again is None:
        return description
    return format_html("{} A proxy has asked with a valid key since {}.", description, shown_time(works_again))


def refusals_at_sites(key: ApiKey) -> str:
    """Return the refusals with this key at sites that it is not for, each with the site."""
    is_refused = refused_proxies.is_refused(timezone.now())
    sites = Site.objects.filter(is_refused, account_id=key.account_id, refused_key=key.pk).order_by("host")
    rows = ((change_url(site), site, refusal_of_site(site)) for site in sites)
    return format_html_join("", '<p><a class="text-link" href="{}">{}</a>: {}</p>', rows)


def reason_at_site(site: Site) -> str:
    if site.refused_key is None:
        return f"{refused_proxies.UNKNOWN_KEY} {OWN_KEY}."
    advice = f"{OWN_KEY}, or add {site.host} to the hosts of this one"
    key = ApiKey.objects.filter(pk=site.refused_key, account_id=site.account_id).first()
    if key is None:
        return f"{refused_proxies.OTHER_KEY} {advice}."
    return format_html("{} {}: {}.", refused_proxies.OTHER_KEY, advice, text_link(change_url(key), key))


def works_since(refused: ApiKey | Site) -> datetime | None:
    """Return when a proxy of the site, or of the key's sites, first asked with a valid key after the last refusal.

    None if none did.
    """
    if isinstance(refused, Site):
        site_ids = [refused.pk]
    else:
        sites = Site.objects.filter(account_id=refused.account_id)
        if refused.allowed_hosts:
            sites = sites.filter(at_hosts(refused.allowed_hosts))
        site_ids = list(sites.values_list("pk", flat=True))
    later = AccessEvent.objects.filter(account_id=refused.account_id, created__gt=refused.refused_at)
    first = later.order_by("created", "pk")[:MAX_SEARCHED].values("pk")
    questions = AccessEvent.objects.filter(recorded_fact("siteId")(site_ids), pk__in=first).exclude(
        facts__has_key="imported"
    )
    earliest: datetime | None = questions.aggregate(at=Min("created"))["at"]
    return earliest


def is_over(refused: ApiKey | Site) -> bool:
    """Whether proxies work again: one asked with a valid key, and none was refused for REFUSALS_END_AFTER."""
    return not is_recent(refused) and works_since(refused) is not None


def is_recent(refused: ApiKey | Site) -> bool:
    return refused.refused_at is not None and refused.refused_at > timezone.now() - REFUSALS_END_AFTER
