"""Records past decisions that were allowed and cost nothing, such as those imported from logs.

Their ids are derived from their content, so recording one again changes nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from django.db.backends.utils import CursorWrapper
from msgspec import Struct

from analytics.recording.recorder_sqlite import insert_decisions
from analytics.recording.statement import EVENT_COLUMNS
from kit.storage.by_database import by_database
from kit.values.ids import raw_bytes

IDS_PER_QUERY = 5_000
COLUMNS = f"{EVENT_COLUMNS}, observed"


class PastDecision(Struct, gc=False):
    """An allowed decision, with ids as bytes. `created` has Django's text format, in UTC; `facts` is JSON."""

    id: bytes
    account: bytes
    content: bytes
    requester: int
    policy: bytes | None
    policy_version: int | None
    rule_index: int | None
    permission: str | None
    facts: bytes
    created: str
    observed: str | None = None
    rate_remaining: int | None = None
    rate_reset: int | None = None
    allowed: bool = True
    reason: str | None = None


def find_recorded(cursor: CursorWrapper, ids: Sequence[bytes]) -> set[bytes]:
    """Return those ids under which a decision is recorded."""
    recorded: set[bytes] = set()
    select = by_database(postgresql=select_on_postgresql, sqlite=select_on_sqlite)
    for start in range(0, len(ids), IDS_PER_QUERY):
        select(cursor, sorted(ids[start : start + IDS_PER_QUERY]))
        recorded.update(raw_bytes(key) for (key,) in cursor.fetchall())
    return recorded


def select_on_postgresql(cursor: CursorWrapper, ids: Sequence[bytes]) -> None:
    cursor.execute(
        "SELECT id FROM analytics_accessevent WHERE id = ANY(%s::uuid[]) AND id BETWEEN %s AND %s",
        [uuid_array(ids), ids[0].hex(), ids[-1].hex()],
    )


def select_on_sqlite(cursor: CursorWrapper, ids: Sequence[bytes]) -> None:
    marks = ", ".join(["%s"] * len(ids))
    cursor.execute(f"SELECT id FROM analytics_accessevent WHERE id IN ({marks})", ids)  # noqa: S608


def record_past(cursor: CursorWrapper, decisions: Sequence[PastDecision]) -> list[PastDecision]:
    """Record those of the decisions that are new, with their usage, and return them.

    The caller holds a transaction and a lock that keeps others from recording the same ones.
    """
    recorded = find_recorded(cursor, [decision.id for decision in decisions])
    new: list[PastDecision] = []
    for decision in decisions:
        if decision.id not in recorded:
            recorded.add(decision.id)
            new.append(decision)
    new.sort(key=attrgetter("id"))
    if new:
        store = by_database(postgresql=store_on_postgresql, sqlite=store_on_sqlite)
        store(cursor, new)
    return new


def store_on_postgresql(cursor: CursorWrapper, new: Sequence[PastDecision]) -> None:
    with cursor.copy(f"COPY analytics_accessevent ({COLUMNS}) FROM STDIN") as copy:
        copy.write(b"".join(map(copy_line, new)))
    for account, hour, contents, requesters in by_hour(new):
        cursor.execute(
            "INSERT INTO analytics_recentusage (account_id, hour, contents, requesters, outcomes) "
            "VALUES (%s, %s, %s::uuid[], %s, array_fill(''::text, ARRAY[%s]))",
            [account.hex(), hour, uuid_array(contents), f"{{{','.join(map(str, requesters))}}}", len(contents)],
        )


def store_on_sqlite(cursor: CursorWrapper, new: Sequence[PastDecision]) -> None:
    insert_decisions(cursor, COLUMNS, [sqlite_values(decision) for decision in new])


def sqlite_values(decision: PastDecision) -> tuple[bytes | int | str | bool | None, ...]:
    """Return the values of COLUMNS for SQLite."""
    return (
        decision.id,
        decision.account,
        decision.content,
        decision.requester,
        decision.policy,
        decision.policy_version,
        decision.allowed,
        decision.reason,
        decision.rule_index,
        decision.permission,
        decision.facts.decode(),
        decision.rate_remaining,
        decision.rate_reset,
        decision.created,
        decision.observed,
    )


def copy_line(decision: PastDecision) -> bytes:
    """Return the values of COLUMNS as a line of PostgreSQL's COPY. Only facts have characters to escape."""
    policy = None if decision.policy is None else decision.policy.hex()
    facts = decision.facts.replace(b"\\", b"\\\\").decode()
    return (
        f"{decision.id.hex()}\t{decision.account.hex()}\t{decision.content.hex()}\t{decision.requester}\t"
        f"{or_null(policy)}\t{or_null(decision.policy_version)}\tt\t\\N\t{or_null(decision.rule_index)}\t"
        f"{or_null(decision.permission)}\t{facts}\t{or_null(decision.rate_remaining)}\t"
        f"{or_null(decision.rate_reset)}\t{decision.created}+00\t{or_null(decision.observed)}\n"
    ).encode()


def or_null(value: str | int | None) -> str | int:
    return "\\N" if value is None else value


def uuid_array(keys: Iterable[bytes]) -> str:
    """Return keys as PostgreSQL writes an array of UUIDs. Making a UUID of each takes longer than recording it."""
    return f"{{{','.join([key.hex() for key in keys])}}}"


def by_hour(decisions: Iterable[PastDecision]) -> Iterator[tuple[bytes, str, list[bytes], list[int]]]:
    """Yield account, hour, items and requesters of the decisions of each account and hour."""
    groups: defaultdict[tuple[bytes, str], list[PastDecision]] = defaultdict(list)
    for decision in decisions:
        groups[decision.account, decision.created[:13]].append(decision)
    for (account, hour), decisions_of_hour in sorted(groups.items()):
        contents = [decision.content for decision in decisions_of_hour]
        requesters = [decision.requester for decision in decisions_of_hour]
        yield account, f"{hour}:00:00+00", contents, requesters
