"""Changes and decisions made with an API key, and proxies that were refused with it."""

from collections.abc import Iterable
from datetime import timedelta

from django.utils import timezone
from django.utils.html import format_html, format_html_join

from accounts.keys.states import REFUSED_WITHIN, refuses_proxy
from accounts.models import ActorType, ApiKey, AuditEntry
from analytics.models import AccessEvent
from operators.base.links import change_url
from operators.base.times.shown import TO_SECOND, shown_time

LATEST = 5
NO_REFUSAL = f"none in the last {REFUSED_WITHIN // timedelta(hours=1)} hours"
SEARCHED = 5_000  # newest changes or decisions of the account to search, because neither has an index by key


def latest_changes(key: ApiKey) -> str:
    """List the newest changes made with the key, each with its client address."""
    newest = AuditEntry.objects.filter(account_id=key.account_id).order_by("-created", "-id")[:SEARCHED]
    made = AuditEntry.objects.filter(pk__in=newest.values("pk"), actor_type=ActorType.KEY, actor_id=key.pk)
    entries = made.order_by("-created", "-id").only("pk", "created", "action", "resource_title", "address")[:LATEST]
    return render_links(
        ((entry, f"{entry.action} {entry.resource_title} (from {entry.address or '–'})") for entry in entries),
        "changes",
    )


def latest_decisions(key: ApiKey) -> str:
    """List the newest decisions requested with the key, each with its requester."""
    newest = AccessEvent.objects.filter(account_id=key.account_id).order_by("-created", "-pk")[:SEARCHED]
    asked = AccessEvent.objects.filter(pk__in=newest.values("pk"), facts__keyId=key.pk).select_related("requester")
    events = asked.order_by("-created", "-pk")[:LATEST]
    return render_links(
        (
            (event, f"{'allowed' if event.allowed else event.reason}: {event.requester.requester_id}")
            for event in events
        ),
        "decisions",
    )


def refusal_in_words(key: ApiKey) -> str:
    """Return since when, when last, and why proxies are refused with the key; empty if none is."""
    since, last = key.refused_since, key.refused_at
    if since is None or last is None or not refuses_proxy(key, timezone.now()):
        return ""
    return format_html(
        "refused at the edge since {}, last at {}: {}", shown_time(since), shown_time(last), key.refusal
    )


def render_links(rows: Iterable[tuple[AuditEntry | AccessEvent, str]], name: str) -> str:
    """Render each row as a link with its time, followed by text; `name` says what was searched if there are none."""
    lines = ((change_url(row), shown_time(row.created, TO_SECOND), text) for row, text in rows)
    shown = format_html_join("", '<div><a class="text-link" href="{}">{}</a> {}</div>', lines)
    return shown or format_html("none among the account’s latest {} {}", f"{SEARCHED:,}", name)
