"""The latest decisions about an item or customer."""

from django.db.models import QuerySet
from django.utils.html import format_html_join

from analytics.models import AccessEvent
from operators.base.links import change_url

LATEST = 5


def latest_decisions(events: QuerySet[AccessEvent], about: str) -> str:
    """Render links to the newest decisions, each with its attribute `about`."""
    rows = (
        (
            change_url(event),
            f"{event.created:%Y-%m-%d %H:%M:%S}",
            "allowed" if event.allowed else f"denied: {event.reason}",
            str(getattr(event, about)),
        )
        for event in events[:LATEST]
    )
    return format_html_join("", '<div><a class="text-link" href="{}">{}</a> {} ({})</div>', rows) or "none"
