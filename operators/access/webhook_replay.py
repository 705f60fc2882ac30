"""The confirmation page before a webhook endpoint gets missed events again."""

from datetime import datetime

from django import forms
from django.http import HttpRequest

from accounts.webhooks.recovery import Recovery
from kit.values.timestamps import parse_timestamp
from operators.base.times.field import Moment
from operators.base.times.shown import TO_SECOND, time_in_words


class ReplayForm(forms.Form):
    since = Moment(
        label="Start time",
        help_text=(
            "Leave it empty to send only deliveries that failed or wait for a retry. With a start time, every "
            "event since then that the endpoint did not get is sent. You see the number first."
        ),
    )


def chosen_time(request: HttpRequest) -> datetime | None:
    """Return the start time in the query, or None if it is missing or invalid."""
    try:
        return parse_timestamp(request.GET["since"])
    except (KeyError, ValueError):
        return None


def describe_count(count: int) -> str:
    return f"{count:,} event{'' if count == 1 else 's'}"


def replay_facts(previewed: Recovery | None) -> list[tuple[str, str]]:
    if previewed is None or previewed.first is None or previewed.last is None:
        return []
    named = (("First event", previewed.first), ("Last event", previewed.last))
    return [
        ("Number of events", f"{previewed.events:,}"),
        *((label, f"{event.type}, {time_in_words(event.created, TO_SECOND)} ({event.pk})") for label, event in named),
    ]


def replay_effects(previewed: Recovery | None) -> list[str]:
    if previewed is None:
        return ["The endpoint is disabled, so nothing can be sent to it. Enable it first."]
    what, otherwise = (
        ("whose delivery failed or waits for a retry", "No delivery to this endpoint failed or waits for a retry.")
        if previewed.since is None
        else (
            f"from {time_in_words(previewed.since)} on that the endpoint did not get",
            f"The endpoint got every event from {time_in_words(previewed.since)} on.",
        )
    )
    if not previewed.events:
        return [f"{otherwise} Nothing is sent."]
    return [f"Each event {what} is sent now, with the whole retry schedule."]


def replay_button(previewed: Recovery | None) -> str:
    if previewed is None:
        return ""
    return f"Send {describe_count(previewed.events)}" if previewed.events else "Count again"
