"""`limit.reached` events, for limits that are (nearly) used up.

Requests queue them without waiting; a background job writes them (config.jobs). Each process queues a share of a
window once, as far as it remembers; the database prevents duplicate events.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b

from django.db import connection, models, transaction
from django.db.models import Value
from django.db.models.functions import Replace
from msgspec import Struct

from accounts.events import recording
from accounts.events.event_types import LIMIT_REACHED
from accounts.limits.windows import ACCOUNT, AT_EDGE, Hit
from accounts.plans.models import Account
from kit.storage.sqlite_turns import turn_to_write


class LimitNotice(models.Model):
    """The announcement of a limit's use, once per window and share (see accounts.limits.events)."""

    key = models.CharField(max_length=200, primary_key=True)
    ends_at = models.DateTimeField()  # end of the window

    class Meta:
        app_label = "accounts"

    def __str__(self) -> str:
        return self.key


MOST_WAITING = 10_000
MOST_REMEMBERED = 100_000
PLAN, EDGE = "plan", "edge"  # scopes of an account's limits
SCOPES = {ACCOUNT: PLAN, AT_EDGE: EDGE}
CHUNK = 500
Requesters = Collection[tuple[str, str]]  # by account and the publisher's own id
Names = Mapping[tuple[str, str], str | None]  # of those that still exist
ReadNames = Callable[[Requesters], Names]  # keeps them from being erased until the transaction ends
names_of: ReadNames


class UsedUpLimit(Struct, frozen=True):
    """A used-up limit.

    `key` names limit, window and share; `object_id` is the account's or policy's; `ends` is in Unix seconds.
    `requester_id` is set if the limit is a requester's.
    """

    key: str
    account_id: str
    object_id: str
    ends: int
    data: dict[str, object]
    requester_id: str | None = None


noted: set[tuple[object, ...]] = set()
waiting: deque[UsedUpLimit] = deque(maxlen=MOST_WAITING)


def first_time(*key: object) -> bool:
    """Remember the key; return whether it was new to this process."""
    if key in noted:
        return False
    if len(noted) >= MOST_REMEMBERED:
        noted.clear()
    noted.add(key)
    return True


def note_use(hit: Hit, counts: Sequence[int], now: int) -> None:
    """Queue an event if a plan, or its meter at the edge, is nearly used up. Requests without a key have no plan."""
    kind, colon, account_id = hit.bucket.partition(":")
    if (scope := SCOPES.get(kind + colon)) is None:
        return
    for window, used in zip(hit.windows, counts, strict=True):
        limit, seconds = window.limit, window.seconds
        percent = 100 if used >= limit else 80
        if (
            window.part
            or used * 5 < limit * 4
            or not first_time(scope, account_id, seconds, now // seconds, percent, limit)
        ):
            continue
        ends, period = (now // seconds + 1) * seconds, "day" if seconds > 60 else "minute"
        data = limit_data(scope, percent, limit, used, period, ends)
        at_edge = "" if scope == PLAN else f" {scope}"
        # A plan that is changed within the window is another limit.
        key = f"{account_id}{at_edge} {period} {ends} {percent} of {limit}"
        waiting.append(UsedUpLimit(key, account_id, account_id, ends, data))


def note_rule(
    *,
    account_id: str,
    policy_id: str,
    fingerprint: bytes,
    rule_index: int,
    requests: int,
    period: str,
    ends: int,
    requester_id: str,
) -> None:
    """Queue an event for a requester that has used up a rule's limit. Call it the `first_time` only."""
    who = blake2b(requester_id.encode(), digest_size=16).hexdigest()
    data = limit_data("rule", 100, requests, requests, period, ends)
    data |= {"policyId": policy_id, "ruleIndex": rule_index}
    key = f"{key_of_rule(policy_id, fingerprint)} {who} {ends}"
    waiting.append(UsedUpLimit(key, account_id, policy_id, ends, data, requester_id))


def key_of_rule(policy_id: str, fingerprint: bytes) -> str:
    return f"{policy_id} {fingerprint.hex()}"


def rename_rule(policy_id: str, former: bytes, current: bytes) -> None:
    """Keep the notices of a rule's limit under its new fingerprint, so that they are not sent again."""
    old, new = key_of_rule(policy_id, former), key_of_rule(policy_id, current)
    notices = LimitNotice.objects.filter(key__startswith=f"{old} ")
    notices.update(key=Replace("key", Value(old), Value(new)))


def limit_data(scope: str, percent: int, limit: int, used: int, period: str, ends: int) -> dict[str, object]:
    """Build the event's object."""
    return {
        "object": "limit",
        "scope": scope,
        "percent": percent,
        "limit": limit,
        "used": used,
        "period": period,
        "reset": ends,
        "policyId": None,
        "ruleIndex": None,
        "requester": None,
    }


def read_names_by(read: ReadNames) -> None:
    """Register how the names of requesters are read."""
    global names_of  # noqa: PLW0603 - the app above registers it once
    names_of = read


def write_queued() -> int:
    """Write the queued events and return their number. On an error they stay queued."""
    written = 0
    while chunk := [waiting.popleft() for _ in range(min(len(waiting), CHUNK))]:
        try:
            written += write_chunk(chunk)
        except BaseException:
            waiting.extendleft(reversed(chunk))
            raise
    return written


def write_chunk(chunk: list[UsedUpLimit]) -> int:
    with turn_to_write(), transaction.atomic():
        account_ids = set(
            Account.objects.filter(pk__in={used_up.account_id for used_up in chunk}).values_list("pk", flat=True)
        )
        # A requester that was erased since then must not be named again.
        names = names_of(
            {(used_up.account_id, used_up.requester_id) for used_up in chunk if used_up.requester_id is not None}
        )
        new = [
            (used_up, data)
            for used_up in chunk
            if used_up.account_id in account_ids and (data := data_of(used_up, names)) and record_notice(used_up)
        ]
        recording.write_events(
            [recording.build(used_up.account_id, LIMIT_REACHED, used_up.object_id, data) for used_up, data in new]
        )
    return len(new)


def data_of(used_up: UsedUpLimit, names: Names) -> dict[str, object] | None:
    """Return the event's object; None if its requester no longer exists."""
    if used_up.requester_id is None:
        return used_up.data
    requester = used_up.account_id, used_up.requester_id
    if requester not in names:
        return None
    return {**used_up.data, "requester": {"id": used_up.requester_id, "name": names[requester]}}


def record_notice(used_up: UsedUpLimit) -> bool:
    """Record the announcement. Returns False if another process already made it."""
    ends = connection.ops.adapt_datetimefield_value(datetime.fromtimestamp(used_up.ends, UTC))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO accounts_limitnotice (key, ends_at) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            [used_up.key, ends],
        )
        return cursor.rowcount == 1


def delete_notices(before: datetime, **signal: object) -> None:
    """Delete the notices of windows that ended before this time."""
    LimitNotice.objects.filter(ends_at__lt=before).delete()
