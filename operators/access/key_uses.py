"""What was changed with an API key, and from where, as the audit log recorded it."""

from django.db.models import QuerySet
from django.utils.html import format_html, format_html_join

from accounts.models import ActorType, ApiKey, AuditEntry
from operators.base.links import change_url

LATEST = 5
SEARCHED = 5_000  # latest changes of the account: the log has no index by key


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
