"""Access summaries: for subscribed webhook endpoints, each minute's decisions are counted by requester and reason.

Replies never wait for this: the webhook worker reads a minute's recorded decisions after it has ended.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db import transaction
from django.db.models import Count, Max, Min, QuerySet
from django.utils import timezone

from accounts.events import recording
from accounts.events.models import Event
from accounts.webhooks import outbox
from accounts.webhooks.models import EndpointStatus, WebhookEndpoint
from analytics.models import AccessEvent
from kit.rest.resources import referred_model
from kit.storage.reading import committed_until
from kit.storage.sqlite_turns import turn_to_write
from kit.values.timestamps import render_timestamp

MINUTE = timedelta(minutes=1)
RUN_INTERVAL = timedelta(seconds=5)
GRACE = timedelta(seconds=10)  # longest delay between a decision and its commit
CATCH_UP = timedelta(hours=24)  # older minutes are skipped
MINUTES_AT_A_TIME = 60  # per endpoint and run
MAX_SUMMARIES = 1_000  # summaries per endpoint and minute; one more of each type covers the rest
DENIED = "access.denied"
ALLOWED = "access.allowed"
# By the field names of `accessFilter`.
FILTERS = {"policyIds": "policy_id__in", "requesterIds": "requester_id__in", "reasons": "reason__in"}
EXAMPLE: dict[str, object] = {
    "object": "access_summary",
    "webhookId": "we_01kd9x0f3t5v7x9z1c3e5g7j9m",
    "allowed": False,
    "reason": "no_license",
    "requester": {"id": "org_acme", "name": "Acme"},
    "minute": "2026-02-14T16:44:00.000000Z",
    "count": 37,
    "first": "2026-02-14T16:44:01.250000Z",
    "last": "2026-02-14T16:44:58.000000Z",
}


def write_due_summaries() -> int:
    """Write the summaries of ended minutes and return their number."""
    count = 0
    until = committed_until(timezone.now()) - GRACE - MINUTE
    behind = WebhookEndpoint.objects.filter(status=EndpointStatus.ENABLED, access_told_until__lte=until)
    for endpoint in behind.order_by("access_told_until"):
        begin = max(endpoint.access_told_until or until, (until - CATCH_UP).replace(second=0, microsecond=0))
        for _ in range(MINUTES_AT_A_TIME):
            if begin > until:
                break
            begin = next_minute(endpoint, begin, until)
            count += write_minute(endpoint, begin)
            begin += MINUTE
    return count


def write_summaries_before(moment: datetime, **signal: object) -> None:
    """Write all summaries of minutes that end before `moment`, as far as they have ended."""
    if moment > timezone.now() - CATCH_UP:
        for _ in range(CATCH_UP // (MINUTES_AT_A_TIME * MINUTE) + 1):
            write_due_summaries()


def next_minute(endpoint: WebhookEndpoint, begin: datetime, until: datetime) -> datetime:
    """Return the first minute from `begin` on with a decision of the account, otherwise the last ended minute.

    One query skips quiet hours, so catching up takes time only for minutes with decisions.
    """
    decisions = AccessEvent.objects.filter(
        account_id=endpoint.account_id, created__gte=begin, created__lt=until + MINUTE
    )
    first = decisions.order_by("created").values_list("created", flat=True).first()
    minute = (first or until).replace(second=0, microsecond=0)
    return max(begin, min(minute, until.replace(second=0, microsecond=0)))


def write_minute(endpoint: WebhookEndpoint, begin: datetime) -> int:
    """Write the summaries of a minute. Reads before it locks: only erasures change decisions of ended minutes."""
    events = build_events(endpoint, begin)
    with turn_to_write(), transaction.atomic():
        locked = WebhookEndpoint.objects.select_for_update(no_key=True).filter(pk=endpoint.pk)
        summarized_until = locked.values_list("access_told_until", flat=True).first()
        # deleted, unsubscribed, or another process was faster
        if summarized_until is None or summarized_until > begin:
            return 0
        if names_erased(endpoint.account_id, events):  # erasures redact the events that they find, under this lock
            events = build_events(endpoint, begin)
        recording.store_events(events)
        outbox.enqueue_for(endpoint, events)
        locked.update(access_told_until=begin + MINUTE)
    return len(events)


def names_erased(account_id: str, events: Sequence[Event]) -> bool:
    """Whether a requester that these events name was erased or renamed since they were built.

    One that was erased before keeps its pseudonym, and loses only the name that it was given since.
    """
    requesters_of_events = [orjson.loads(event.data)["requester"] for event in events]
    names = {(requester["id"], requester["name"]) for requester in requesters_of_events if requester}
    requesters = referred_model(AccessEvent, "requester")._default_manager.filter(account_id=account_id)
    current_names = requesters.filter(requester_id__in={id for id, _ in names}).values_list("requester_id", "name")
    return not names <= set(current_names)


def build_events(endpoint: WebhookEndpoint, begin: datetime) -> list[Event]:
    """Build the unwritten events of a minute."""
    event_types = {False: DENIED, True: ALLOWED}
    outcomes = [allowed for allowed, event_type in event_types.items() if endpoint.subscribes_to(event_type)]
    decisions = AccessEvent.objects.filter(
        account_id=endpoint.account_id, created__gte=begin, created__lt=begin + MINUTE, allowed__in=outcomes
    )
    for name, values in (endpoint.access_filter or {}).items():
        if name == "requesterIds":
            values = keys_after_merges(endpoint.account_id, values)  # noqa: PLW2901
        decisions = decisions.filter(**{FILTERS[name]: values})
    groups = decisions.values("allowed", "reason", "requester__requester_id", "requester__name").annotate(
        count=Count("id"), first=Min("created"), last=Max("created")
    )
    largest = list(groups.order_by("-count", "requester__requester_id")[: MAX_SUMMARIES + 1])
    events = [build_event(endpoint, begin, group) for group in largest[:MAX_SUMMARIES]]
    if len(largest) > MAX_SUMMARIES:
        events += build_remainder_events(endpoint, begin, decisions, largest[:MAX_SUMMARIES])
    return events


def keys_after_merges(account_id: str, requester_ids: Sequence[str]) -> list[int]:
    """Return the primary keys of the requesters that these are now, and of those merged into them."""
    requesters = referred_model(AccessEvent, "requester")._default_manager.filter(account_id=account_id)
    keys = requesters.filter(requester_id__in=requester_ids).values_list("pk", "merged_into_id")
    current = {merged_into or pk for pk, merged_into in keys}
    return [*current, *requesters.filter(merged_into__in=current).values_list("pk", flat=True)]


def build_remainder_events(
    endpoint: WebhookEndpoint,
    begin: datetime,
    decisions: QuerySet[AccessEvent],
    summarized_groups: Sequence[Mapping[str, Any]],
) -> list[Event]:
    """Build one summary per outcome for the groups beyond MAX_SUMMARIES, without requester and reason."""
    totals = decisions.values("allowed").order_by("allowed")
    events = []
    for total in totals.annotate(count=Count("id"), first=Min("created"), last=Max("created")):
        same_outcome = [group for group in summarized_groups if group["allowed"] == total["allowed"]]
        count = total["count"] - sum(group["count"] for group in same_outcome)
        if count:
            events.append(build_event(endpoint, begin, {**total, "count": count}))
    return events


def build_event(endpoint: WebhookEndpoint, begin: datetime, group: Mapping[str, Any]) -> Event:
    requester = None
    if "requester__requester_id" in group:
        requester = {"id": group["requester__requester_id"], "name": group["requester__name"]}
    data = {
        "object": "access_summary",
        "webhookId": endpoint.pk,
        "allowed": group["allowed"],
        "reason": group.get("reason"),
        "requester": requester,
        "minute": render_timestamp(begin),
        "count": group["count"],
        "first": render_timestamp(group["first"]),
        "last": render_timestamp(group["last"]),
    }
    return recording.build(endpoint.account_id, ALLOWED if group["allowed"] else DENIED, endpoint.pk, data)
