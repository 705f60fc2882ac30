"""Record decisions at any time through the recorder, and recompute the usage report in plain Python."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

from django.db import connection, transaction

from accounts.models import Account
from analytics.recording.entries import Case, Entry
from analytics.recording.recorder import record
from analytics.rollups.roll_up import roll_up
from kit.values import ids
from kit.values.timestamps import render_timestamp
from licensing.content.models import Content
from licensing.policies.decision import Reason
from licensing.requesters.models import Requester


@dataclass(frozen=True)
class Event:
    created: datetime
    content: Content
    requester: Requester
    reason: str | None


def requester(account: Account, name: str) -> Requester:
    return Requester.objects.create(account=account, requester_id=name, name=f"Requester {name}")


def as_entry(event: Event, epoch: int) -> Entry:
    case = Case(
        account=ids.id_to_hex("acc", event.content.account_id),
        epoch=epoch,
        requester=event.requester.pk,
        allowed=event.reason is None,
        reason=event.reason,
        facts={"contentType": "article"},
        created=render_timestamp(event.created) or "",
    )
    _, keys = ids.successive("dec", 1, ids.to_nanoseconds(event.created))
    return Entry(case, keys, [ids.id_to_hex("cnt", event.content.pk)])


def record_all(events: Sequence[Event]) -> None:
    """Record the events in daily batches, rolling up once after three quarters of the days."""
    epochs = {account.pk: account.epoch for account in Account.objects.all()}
    in_order = sorted(events, key=lambda event: event.created)
    days = [list(of_day) for _, of_day in groupby(in_order, key=lambda event: event.created.date())]
    for number, of_day in enumerate(days):
        entries = [as_entry(event, epochs[event.content.account_id]) for event in of_day]
        if number == len(days) * 3 // 4:
            gather_statistics()
            roll_up()
        with transaction.atomic():
            assert all(outcome.is_stored for outcome in record(entries))


def gather_statistics() -> None:
    """Let PostgreSQL plan for these rows: autovacuum may have seen only those that earlier tests rolled back."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE analytics_recentusage")


def some_events(account: Account, count: int, begin: datetime, days: int, seed: int) -> list[Event]:
    """Random events of every outcome, many within a second of midnight or of a month's start or end."""
    chance = random.Random(seed)
    moments = dict.fromkeys(("created", "updated"), datetime.now(UTC))
    items = Content.objects.bulk_create(Content(account=account, title=f"Item {n}", **moments) for n in range(25))
    names = [f"org_{chance.randrange(10**6):06}" for _ in range(25)]
    requesters = Requester.objects.bulk_create(
        Requester(account=account, requester_id=name, name=f"Requester {name}") for name in names
    )
    outcomes = [None, None, None, *Reason]
    edges = [timedelta(0), timedelta(microseconds=1), timedelta(microseconds=-1), timedelta(seconds=1)]
    events = []
    for _ in range(count):
        day = begin + timedelta(days=chance.randrange(days))
        if chance.random() < 0.2:
            day = day.replace(day=1)
        moment = day + (
            chance.choice(edges) if chance.random() < 0.3 else timedelta(microseconds=chance.randrange(86_400 * 10**6))
        )
        item = items[min(int(chance.expovariate(0.2)), 24)]
        events.append(Event(moment, item, chance.choice(requesters), chance.choice(outcomes)))
    return events


def bucket_label(moment: datetime, group_by: str) -> str:
    day = moment.date()
    if group_by == "hour":
        return f"{moment:%Y-%m-%dT%H}:00:00.000000Z"
    if group_by == "week":
        day -= timedelta(days=day.weekday())
    if group_by == "month":
        day = day.replace(day=1)
    return day.isoformat()


def recomputed(events: Sequence[Event], start: datetime, last: datetime, group_by: str) -> dict[str, object]:
    """Recompute the report on the events from `start` to `last`, both inclusive."""
    seen = [event for event in events if start <= event.created <= last]
    requests: Counter[str] = Counter(bucket_label(event.created, group_by) for event in seen)
    allowed: Counter[str] = Counter(bucket_label(event.created, group_by) for event in seen if event.reason is None)
    labels, moment = [], start
    while moment <= last:
        labels.append(bucket_label(moment, group_by))
        moment = (moment + timedelta(hours=1)).replace(minute=0, second=0, microsecond=0)
    contents = Counter((event.content.pk, event.content.title) for event in seen)
    requesters = Counter((event.requester.requester_id, event.requester.name) for event in seen)
    reasons = Counter(event.reason for event in seen if event.reason)
    return {
        "summary": {
            "totalRequests": len(seen),
            "allowed": sum(allowed.values()),
            "denied": len(seen) - sum(allowed.values()),
            "uniqueRequesters": len(requesters),
            "uniqueContent": len(contents),
        },
        "timeSeries": [
            {
                "date": label,
                "requests": requests[label],
                "allowed": allowed[label],
                "denied": requests[label] - allowed[label],
            }
            for label in dict.fromkeys(labels)
        ],
        "topContent": [
            {"id": key, "title": title, "requests": n}
            for (key, title), n in sorted(contents.items(), key=lambda pair: (-pair[1], pair[0]))[:10]
        ],
        "topRequesters": [
            {"id": key, "name": name, "requests": n}
            for (key, name), n in sorted(requesters.items(), key=lambda pair: (-pair[1], pair[0]))[:10]
        ],
        "byDenialReason": [
            {"reason": reason, "count": n}
            for reason, n in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
        ],
    }


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
