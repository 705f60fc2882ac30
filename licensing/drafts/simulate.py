"""Replay recorded decisions against a proposed policy. Reads only: writes nothing and locks nothing."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain, islice
from threading import Lock
from time import perf_counter, sleep
from typing import TYPE_CHECKING, NamedTuple, cast

import orjson
from django.db.models import F, Q, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan

from analytics.archive.horizon import horizon_cache
from analytics.models import AccessEvent, LedgerEntry
from analytics.windows import ALL, DAY, MICROSECOND, PERIODS, USAGE, end_of_day, start_of_period
from kit.http.error_replies import check_client_connected
from kit.http.errors import ValidationFailed
from kit.rest.lists.orders import Position
from kit.storage.loading import prepare
from kit.storage.replica import reading_connection
from kit.values import ids
from kit.values.ids import RawId
from licensing.access.archived.pagination import available_archive, events_of
from licensing.access.facts import facts_of_event
from licensing.content.models import Content
from licensing.drafts.replay import RecordedDecision, Replay, ReplayTotals, earliest_window
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.conditions import CONDITIONS
from licensing.policies.facts import CHECK_FACTS, identity
from licensing.policies.models import Policy
from licensing.policies.rules import parse_rules
from licensing.sites.models import Site

if TYPE_CHECKING:
    from analytics.archive.reading import ArchiveQuery

CHUNK_ROWS = 1_000  # decisions in memory at a time

Row = tuple[RawId, datetime, RawId, str, str | None, bool, str | None, str | bytes]  # the values of COLUMNS
COLUMNS = ("id", "created", "content_id", "requester__requester_id", "permission", "allowed", "reason", "facts")
MAX_DECISIONS = 100_000
MAX_TESTS = 10_000_000  # conditions times decisions; takes one or two seconds of CPU time
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)  # before all decisions
BURST_TESTS = 3_000  # tests in a burst, about a millisecond
MAX_PAUSE = 0.02  # seconds between two bursts
TESTS_OF_READING = 50  # cost of reading and counting a decision, in condition tests
# Facts that only conditions use and that take long to load, by the attribute of Facts that conditions read.
READ_BY_CONDITIONS = {condition_type.reads for condition_type in CONDITIONS.values()}
SLOW_FACTS = {
    fact.attribute: fact.name
    for fact in CHECK_FACTS
    if fact.load is not identity and fact.attribute in READ_BY_CONDITIONS
}


class PastDecisions(NamedTuple):
    """Decisions from old to new. `cut` is the time of the first if there are older ones."""

    chunks: Iterator[list[Row]]
    cut: datetime | None


def newest_decisions(policy: Policy, begin: datetime, end: datetime, limit: int) -> PastDecisions:
    """Return the newest `limit` decisions between `begin` and `end` (exclusive) that the policy answers for."""
    linked = Q(content__policy_id=policy.pk, content__deleted_at=None)
    pages = pages_of_sites(policy)
    events = AccessEvent.objects.filter(
        linked | Q(content__in=pages, policy=policy) if pages else linked,
        account_id=policy.account_id,
        created__lt=end,
    )
    horizon = horizon_cache.current()
    events = events.filter(created__gte=begin if horizon is None else max(begin, horizon))
    last = positions(events)[limit - 1 : limit + 1]  # the last that is replayed, and the first that is not
    oldest = [Position(*row) for row in last]
    archived = None
    if horizon is not None and begin < horizon and len(oldest) < 2:
        archived = archived_decisions(policy, pages, begin, min(end, horizon))
        missing = limit - events.count()
        with available_archive():
            oldest += islice(archived.positions(), max(missing - 1, 0), missing + 1)
    cut = before = None
    if len(oldest) == 2:
        cut, before = oldest
    if before is not None and (horizon is None or before.value >= horizon):
        events = events.filter(TupleGreaterThan(Tuple(F("created"), F("id")), before))
    recent = read_rows(events.order_by("created", "id").values_list(*COLUMNS))
    chunks = recent if archived is None else chain(archived_rows(archived, before), recent)
    return PastDecisions(chunks, None if cut is None else cut.value)


def pages_of_sites(policy: Policy) -> list[str]:
    """Return the items under which pages without one of their own are recorded, of the sites that name the policy."""
    return list(Site.objects.filter(rules__policy=policy).distinct().values_list("pages", flat=True))


def positions(events: QuerySet[AccessEvent]) -> QuerySet[AccessEvent, tuple[datetime, str]]:
    return events.order_by("-created", "-id").values_list("created", "id")


def read_rows(events: QuerySet[AccessEvent, object]) -> Iterator[list[Row]]:
    """Yield the rows of one query as raw database values, because model conversion would take most of the time.

    Server-side cursors need no transaction here: PostgreSQL keeps the result (WITH HOLD), and SQLite reads on demand.
    """
    statement, parameters = events.query.sql_with_params()
    replica = reading_connection()
    all_at_once = replica.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
    with replica.cursor() if all_at_once else replica.chunked_cursor() as cursor:
        cursor.execute(statement, parameters)
        while rows := cursor.fetchmany(CHUNK_ROWS):
            yield rows


def archived_decisions(policy: Policy, pages: list[str], begin: datetime, end: datetime) -> "ArchiveQuery":
    with available_archive():
        from analytics.archive.reading import AnyOf, ArchiveQuery, Comparison  # noqa: PLC0415 - of an optional extra

    content = Content.objects.filter(account_id=policy.account_id, policy_id=policy.pk, deleted_at=None)
    linked = list(content.values_list("pk", flat=True))
    responsible = AnyOf((Comparison("content", "in", linked), Comparison("policy", "eq", policy.pk)))
    return ArchiveQuery(policy.account_id, begin, end, (Comparison("content", "in", linked + pages), responsible))


def archived_rows(archived: "ArchiveQuery", after: Position | None) -> Iterator[list[Row]]:
    with available_archive():
        for chunk in archived.read_in_chunks(CHUNK_ROWS, after=after):
            yield [build_row(event) for event in events_of(chunk)]


def build_row(event: AccessEvent) -> Row:
    key = cast("RawId", prepare(AccessEvent, "id", event.pk))
    content = cast("RawId", prepare(AccessEvent, "content_id", event.content_id))
    name = event.requester.requester_id
    facts = orjson.dumps(event.facts)
    return key, event.created, content, name, event.permission, event.allowed, event.reason, facts


# One burst at a time per process: several would pass the GIL among each other, and checks would wait for them all.
bursts = Lock()


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result of a replay. `end` is exclusive. `since` is the time of the first decision counted, or None."""

    draft: CompiledPolicy
    start: datetime
    end: datetime
    since: datetime | None
    truncated: bool  # whether some decisions since `start` were not replayed
    tally: ReplayTotals
    at_stake: dict[str, Decimal]  # by currency: revenue of the decisions that would be denied


def resolve_window(
    now: datetime, period: str | None, start: datetime | None, end: datetime | None
) -> tuple[datetime, datetime]:
    """Return the period's start and exclusive end, with the same rules as reports.

    Raises ValidationFailed if the start is after the end.
    """
    end = end or end_of_day(now)
    if start is None:
        start = min(BEGINNING, end - MICROSECOND)
        period = period or USAGE.period
        if period != ALL and end - BEGINNING > PERIODS[period] * DAY:
            start = start_of_period(end, period)
    if start >= end:
        raise ValidationFailed("Must not be after endDate.", param="startDate")
    return start, end


def compile_draft(policy: Policy, fields: Mapping[str, object]) -> CompiledPolicy:
    """Compile the policy with the given rules and default action; the saved version if neither is given."""
    if not {"rules", "default_action"} & fields.keys():
        return CompiledPolicy.of(policy.pk, policy.version, policy.default_action, parse_rules(policy.rules))
    rules = parse_rules(fields.get("rules", policy.rules))
    return CompiledPolicy.of(None, None, str(fields.get("default_action", policy.default_action)), rules)


def simulate(
    policy: Policy, draft: CompiledPolicy, start: datetime, end: datetime, limit: int | None = None
) -> Simulation:
    """Replay the newest `limit` decisions between `start` and `end` (exclusive) that the policy answers for.

    Those are the decisions on items that now link to it, and its own on other pages of the sites that name it.

    Reads back to the beginning of the longest rate-limit window open at `start`, within the limit. Policies with more
    than a hundred conditions get fewer decisions. Raises ClientGone.
    """
    tests = sum(len(rule.tests) for rule in draft.rules)  # the most conditions that a decision may test
    limit = min(limit or MAX_DECISIONS, MAX_TESTS // max(tests, 1))
    burst_rows = max(1, BURST_TESTS // (TESTS_OF_READING + tests))
    decisions = newest_decisions(policy, earliest_window(draft, max(start, BEGINNING)), end, limit)
    replay = Replay(draft, start)
    at_stake: dict[str, Decimal] = {}
    since = None
    has_charges = LedgerEntry.objects.filter(account_id=policy.account_id).exists()
    read = {CONDITIONS[condition.name].reads for rule in draft.rules for condition in rule.conditions}
    unread = [name for attribute, name in SLOW_FACTS.items() if attribute not in read]
    for chunk in decisions.chunks:
        check_client_connected()
        denied = []
        for begin in range(0, len(chunk), burst_rows):
            with bursts:
                burst_start = perf_counter()
                for row in chunk[begin : begin + burst_rows]:
                    decision = build_past_decision(row, unread)
                    change = replay.replay(decision)
                    if change is not None and decision.allowed:
                        denied.append(decision.id)
                    if since is None and decision.facts.now >= start:
                        since = decision.facts.now
            # Sleep as long as the burst took, including waits for the GIL, so that busy processes yield more time.
            sleep(min(perf_counter() - burst_start, MAX_PAUSE))
        if has_charges:
            add_charges(at_stake, denied)
    is_truncated = decisions.cut is not None and decisions.cut > start
    return Simulation(draft, start, end, since, is_truncated, replay.tally, at_stake)


def build_past_decision(row: Row, unread: Iterable[str] = ()) -> RecordedDecision:
    """Build the recorded decision, skipping `unread` facts. Parsing addresses would take a third of the time."""
    key, created, content, requester_id, permission, allowed, reason, text = row
    facts = orjson.loads(text)
    for name in unread:
        facts.pop(name, None)
    return RecordedDecision(
        id=key,
        content=content,
        allowed=allowed,
        reason=reason,
        facts=facts_of_event(facts, requester_id, permission, with_utc(created)),
    )


def with_utc(moment: datetime) -> datetime:
    """Add UTC to naive datetimes from SQLite."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def add_charges(at_stake: dict[str, Decimal], decisions: list[RawId]) -> None:
    """Add the revenue of these decisions. A charge's ledger entry has the decision's id with another prefix."""
    entries = [ids.encode("led", ids.raw_bytes(key)) for key in decisions]
    for amount, currency in LedgerEntry.objects.filter(pk__in=entries).values_list("amount", "currency"):
        at_stake[currency] = at_stake.get(currency, Decimal(0)) + amount
