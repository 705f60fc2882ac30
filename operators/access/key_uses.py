"""What was changed and decided with an API key, as the audit log and the decisions recorded it."""

from django.db.models import QuerySet
from django.utils.html import format_html, format_html_join

from accounts.models import ActorType, ApiKey, AuditEntry
from analytics.models import AccessEvent
from operators.base.links import change_url

LATEST = 5
SEARCHED = 5_000  # latest changes, and latest decisions, of the account: neither has an index by key


def changes_with(key: ApiKey) -> QuerySet[AuditEntry]:
    """Return the entries of the key among the account's latest, newest first."""
    newest = AuditEntry.objects.filter(account_id=key.account_id).order_by("-created", "-id").values("pk")[:SEARCHED]
    made = AuditEntry.objects.filter(pk__in=newest, actor_type=ActorType.KEY, actor_id=key.pk)
    return made.order_by("-created", "-id")


def latest_changes(key: ApiKey) -> str:
    """Link to the newest changes made with the key, each with the address that it came from."""
    entries = changes_with(key).only("pk", "created", "action", "resource_title", "address")[:LATEST]
    rows = (
        (
            change_url(entry),
            f"{entry.created:%Y-%m-%d %H:%M:%S}",
            entry.action,
            entry.resource_title,
            entry.address or "–",
        )
        for entry in entries
    )
    shown = format_html_join("", '<div><a class="text-link" href="{}">{}</a> {} {} (from {})</div>', rows)
    return shown or format_html("none among the account’s latest {} changes", f"{SEARCHED:,}")


def latest_decisions(key: ApiKey) -> str:
    """Link to the newest decisions that the key asked for, each with its requester."""
    newest = AccessEvent.objects.filter(account_id=key.account_id).order_by("-created", "-pk")[:SEARCHED]
    of_key = AccessEvent.objects.filter(pk__in=newest.values("pk"), facts__keyId=key.pk).order_by("-created", "-pk")
    rows = (
        (
            change_url(event),
            f"{event.created:%Y-%m-%d %H:%M:%S}",
            "allowed" if event.allowed else event.reason,
            event.requester.requester_id,
        )
        for event in of_key.select_related("requester")[:LATEST]
    )
    shown = format_html_join("", '<div><a class="text-link" href="{}">{}</a> {}: {}</div>', rows)
    return shown or format_html("none among the account’s latest {} decisions", f"{SEARCHED:,}")
