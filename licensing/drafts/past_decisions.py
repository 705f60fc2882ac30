"""The decisions that a simulation replays, from the database and, before its horizon, from the archive."""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, cast

import orjson
from django.db.models import F, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan

from analytics.archive.horizon import remembered
from analytics.models import AccessEvent
from analytics.rollups.upserts import prepare
from kit.rest.lists.orders import Position
from kit.storage.replica import reading_connection
from kit.values.ids import RawId
from licensing.access.history.lists import available_archive, events_of
from licensing.content.models import Content
from licensing.policies.models import Policy

if TYPE_CHECKING:
    from analytics.archive.reading import Stretch

CHUNK = 1_000  # decisions in memory at a time

Row = tuple[RawId, datetime, RawId, str, str | None, bool, str | None, str | bytes]  # the values of COLUMNS
COLUMNS = ("id", "created", "content_id", "requester__requester_id", "permission", "allowed", "reason", "facts")


class PastDecisions(NamedTuple):
    """Decisions from old to new. `cut` is the time of the first if there are older ones."""

    chunks: Iterator[list[Row]]
    cut: datetime | None


def newest_decisions(policy: Policy, begin: datetime, end: datetime, limit: int) -> PastDecisions:
    """Return the newest `limit` decisions between `begin` and `end` (exclusive) on items that link to the policy."""
    events = AccessEvent.objects.filter(
        account_id=policy.account_id, content__policy_id=policy.pk, content__deleted_at=None, created__lt=end
    )
    horizon = remembered.current()
    events = events.filter(created__gte=begin if horizon is None else max(begin, horizon))
    last = positions(events)[limit - 1 : limit + 1]  # the last that is replayed, and the first that is not
    oldest = [Position(*one) for one in last]
    archived = None
    if horizon is not None and begin < horizon and len(oldest) < 2:
        archived = archived_decisions(policy, begin, min(end, horizon))
        room = limit - events.count()
        with available_archive():
            oldest += islice(archived.positions(), max(room - 1, 0), room + 1)
    cut, before = oldest if len(oldest) == 2 else (None, None)
    if before is not None and (horizon is None or before.value >= horizon):
        events = events.filter(TupleGreaterThan(Tuple(F("created"), F("id")), before))
    recent = read_rows(events.order_by("created", "id").values_list(*COLUMNS))
    chunks = recent if archived is None else chain(archived_rows(archived, before), recent)
    return PastDecisions(chunks, None if cut is None else cut.value)


def positions(events: QuerySet[AccessEvent]) -> QuerySet[AccessEvent, tuple[datetime, str]]:
    return events.order_by("-created", "-id").values_list("created", "id")


def read_rows(events: QuerySet[AccessEvent, object]) -> Iterator[list[Row]]:
    """Yield the rows of one query as raw database values, because model conversion would take most of the time.

    Server-side cursors need no transaction here: PostgreSQL keeps the result (WITH HOLD), and SQLite reads on demand.
    """
    statement, parameters = events.query.sql_with_params()
    read = reading_connection()
    all_at_once = read.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
    with read.cursor() if all_at_once else read.chunked_cursor() as cursor:
        cursor.execute(statement, parameters)
        while rows := cursor.fetchmany(CHUNK):
            yield rows


def archived_decisions(policy: Policy, begin: datetime, end: datetime) -> "Stretch":
    with available_archive():
        from analytics.archive.reading import Comparison, Stretch  # noqa: PLC0415 - of an optional extra

    linked = Content.objects.filter(account_id=policy.account_id, policy_id=policy.pk, deleted_at=None)
    items = Comparison("content", "in", list(linked.values_list("pk", flat=True)))
    return Stretch(policy.account_id, begin, end, (items,))


def archived_rows(archived: "Stretch", after: Position | None) -> Iterator[list[Row]]:
    with available_archive():
        for chunk in archived.chunks(CHUNK, after=after):
            yield [build_row(event) for event in events_of(chunk)]


def build_row(event: AccessEvent) -> Row:
    key = cast("RawId", prepare(AccessEvent, "id", event.pk))
    content = cast("RawId", prepare(AccessEvent, "content_id", event.content_id))
    name, facts = event.requester.requester_id, orjson.dumps(event.facts)
    return key, event.created, content, name, event.permission, event.allowed, event.reason, facts
