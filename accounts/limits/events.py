"""Events for limits that are (nearly) used up: writes those queued by accounts.limits.reached, each once."""

from datetime import UTC, datetime

from django.db import connection, transaction

from accounts.events import recording
from accounts.events.types import LIMIT_REACHED
from accounts.limits.models import LimitNotice
from accounts.limits.reached import UsedUpLimit, waiting
from accounts.plans.models import Account
from kit.storage.sqlite_turns import turn_to_write

CHUNK = 500


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
        new = [one for one in noted if one.account_id in known and keep(one)]
        recording.write([recording.make(one.account_id, LIMIT_REACHED, one.object_id, one.data) for one in new])
    return len(new)


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
