"""Expected events of the month: for each change and each upcoming expiry."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.world.diary import Diary
from tests.world.model.expected import Recorded

ENDING = (timedelta(days=7), timedelta(days=1))  # before the end


def changes(diary: Diary) -> Counter[tuple[str, str]]:
    """Yield type and resource of each event that a change creates."""
    return Counter((deed.event, deed.resource) for deed in diary.deeds if deed.event)


def audited(diary: Diary) -> Counter[tuple[str, str, str]]:
    return Counter((deed.action, deed.resource, deed.actor) for deed in diary.deeds)


def denials(recorded: Iterable[Recorded]) -> Counter[tuple[str, str, str]]:
    """Count each requester's denials by reason and minute."""
    return Counter(
        (f"{one.at:%Y-%m-%dT%H:%M:00.000000Z}", one.asked.requester, one.decision["reason"])
        for one in recorded
        if not one.decision["allowed"]
    )


def summed(events: Iterable[dict[str, Any]]) -> Counter[tuple[str, str, str]]:
    """Return the same denials as `access.denied` events."""
    found: Counter[tuple[str, str, str]] = Counter()
    for event in events:
        about = event["data"]
        found[about["minute"], about["requester"]["id"], about["reason"]] += about["count"]
    return found


def license_ends(diary: Diary, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield type and licence of expiry events; licences revoked earlier have none."""
    for id_, known in diary.licenses.items():
        held = known.latest
        if held.get("expiresAt") is None or held.get("revokedAt"):
            continue
        told = [("license.expiring", held["expiresAt"] - before) for before in ENDING]
        for type_, at in [*told, ("license.expired", held["expiresAt"])]:
            if datetime.fromtimestamp(known.changes[0].begun, UTC) < at <= now:
                yield type_, id_
