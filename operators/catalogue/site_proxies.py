"""What a site's page says about its proxies: when one last asked, and with which keys they are refused."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.html import format_html, format_html_join

from accounts.keys import states as key_states
from accounts.models import ApiKey
from analytics.models import AccessEvent
from licensing.access.filters import recorded_fact
from licensing.sites.models import Site
from operators.access.key_pages import NO_REFUSAL, SEARCHED, refusal_in_words
from operators.base.links import change_url
from operators.base.times import shown_time

QUIET_AFTER = timedelta(hours=1)
WHAT_TO_DO = (
    "If people visit the site, its proxy may have a wrong key, or not reach the service: see the service’s log."
)


def last_question(site: Site) -> str:
    """Return when a proxy last asked about a page of the site, with advice if that was long ago."""
    asked_at = find_last_question(site)
    if asked_at is None:
        return format_html("None of the account’s latest {} decisions is about it. {}", f"{SEARCHED:,}", WHAT_TO_DO)
    if asked_at < timezone.now() - QUIET_AFTER:
        return format_html("No proxy has asked since {}. {}", shown_time(asked_at), WHAT_TO_DO)
    return shown_time(asked_at)


def find_last_question(site: Site) -> datetime | None:
    """Return the time of the site's newest decision, without imported ones. Searches the newest of the account."""
    newest = AccessEvent.objects.filter(account_id=site.account_id).order_by("-created", "-pk")[:SEARCHED]
    own = AccessEvent.objects.filter(recorded_fact("siteId")([site.pk]), pk__in=newest.values("pk"))
    times = own.exclude(facts__has_key="imported").order_by("-created", "-pk").values_list("created", flat=True)
    return times.first()


def refused_proxies(site: Site) -> str:
    """List the keys for the site's hosts with which a proxy was refused, each with since when and why."""
    refused = ApiKey.objects.filter(key_states.is_refused(timezone.now()), account_id=site.account_id)
    keys = [key for key in refused.order_by("-refused_at", "pk") if may_ask_about(key, site)]
    lines = ((change_url(key), str(key), refusal_in_words(key)) for key in keys)
    return format_html_join("", '<p><a class="text-link" href="{}">{}</a> {}</p>', lines) or NO_REFUSAL


def may_ask_about(key: ApiKey, site: Site) -> bool:
    """Whether the key is for one of the site's hosts; one without hosts is for all."""
    return not key.allowed_hosts or not set(key.allowed_hosts).isdisjoint(site.hosts)
