"""The latest decisions about an item or customer."""

from django.db.models import QuerySet
from django.utils.html import format_html_join

from analytics.models import AccessEvent
from operators.base.links import change_url
from operators.base.times.shown import TO_SECOND, shown_time

LATEST = 5


def latest_decisions(events: QuerySet[AccessEvent], about: str) -> str:
    """Render links to the newest decisions, each with its attribute `about`."""
    rows = (
        (
            change_url(event),
            shown_time(event.created, TO_SECOND),
            "allowed" if event.allowed else f"denied: {event.reason}",
            str(getattr(event, about)),
        )
        for event in events[:LATEST]
    )
    return format_html_join("", '<div><a class="text-link" href="{}">{}</a> {} ({})</div>', rows) or "none"
