"""Events for limits that are (nearly) used up: writes those queued by accounts.limits.reached, each once."""

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime

from django.db import connection, transaction

from accounts.events import recording
from accounts.events.types import LIMIT_REACHED
from accounts.limits.models import LimitNotice
from accounts.limits.reached import UsedUpLimit, waiting
from accounts.plans.models import Account
from kit.storage.sqlite_turns import turn_to_write

CHUNK = 500
Requesters = Collection[tuple[str, str]]  # by account and the publisher's own id
Names = Mapping[tuple[str, str], str | None]  # of those that still exist
ReadNames = Callable[[Requesters], Names]  # keeps them from being erased until the transaction ends
names_of: ReadNames


def read_names_by(read: ReadNames) -> None:
    """Register how the names of requesters are read."""
    global names_of  # noqa: PLW0603 - the app above registers it once
    names_of = read


def tell() -> int:
    """Write the queued events and return their number. On an error they stay queued."""
    told = 0
    while noted := [waiting.popleft() for _ in range(min(len(waiting), CHUNK))]:
        try:
            told += tell_of(noted)
        except BaseException:
            waiting.extendleft(reversed(noted))
            raise
    return told


def tell_of(noted: list[UsedUpLimit]) -> int:
    with turn_to_write(), transaction.atomic():
        known = set(Account.objects.filter(pk__in={one.account_id for one in noted}).values_list("pk", flat=True))
        # A requester that was erased since then must not be named again.
        names = names_of({(one.account_id, one.requester_id) for one in noted if one.requester_id is not None})
        new = [(one, data) for one in noted if one.account_id in known and (data := data_of(one, names)) and keep(one)]
        recording.write([recording.make(one.account_id, LIMIT_REACHED, one.object_id, data) for one, data in new])
    return len(new)


def data_of(one: UsedUpLimit, names: Names) -> dict[str, object] | None:
    """Return the event's object; None if its requester no longer exists."""
    if one.requester_id is None:
        return one.data
    requester = one.account_id, one.requester_id
    if requester not in names:
        return None
    return {**one.data, "requester": {"id": one.requester_id, "name": names[requester]}}


def keep(one: UsedUpLimit) -> bool:
    """Record the announcement. Returns False if another process already made it."""
    ends = connection.ops.adapt_datetimefield_value(datetime.fromtimestamp(one.ends, UTC))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO accounts_limitnotice (key, ends_at) VALUES (%s, %s) ON CONFLICT DO NOTHING", [one.key, ends]
        )
        return cursor.rowcount == 1


def forget(before: datetime) -> None:
    """Delete the notices of windows that ended before this time."""
    LimitNotice.objects.filter(ends_at__lt=before).delete()
