"""A draft of a policy against recorded decisions: reads them in passing, writes nothing and locks nothing."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from threading import Lock
from time import perf_counter, sleep
from typing import Any

import orjson
from django.db import connection
from django.db.models import F, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThanOrEqual

from analytics.models import AccessEvent, LedgerEntry
from analytics.windows import ALL, DAY, MICROSECOND, PERIODS, USAGE, end_of_day, start_of_period
from kit.http.errors import ValidationFailed, check_client_connected
from kit.values import ids
from kit.values.ids import RawId
from licensing.access.facts import facts_of_event
from licensing.drafts.replay import Past, Replay, ReplayTotals, earliest_window
from licensing.policies.conditions import CONDITIONS
from licensing.policies.decision import CompiledPolicy
from licensing.policies.facts import OF_CHECK, as_it_is
from licensing.policies.models import Policy
from licensing.policies.rules import parse_rules

MAX_DECISIONS = 100_000
MAX_TESTS = 10_000_000  # of conditions, each as often as there are decisions: a second or two of the processor
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)  # before all decisions
CHUNK = 1_000  # decisions in memory at a time

TURN = 3_000  # tests in a burst, about a millisecond
LONGEST_PAUSE = 0.02  # seconds between two bursts
TESTS_OF_READING = 50  # what it costs to read a decision and count it, as many tests

# Facts that only the condition of the same name looks at, and that take long to read.
UNREAD = frozenset(fact.name for fact in OF_CHECK if fact.load is not as_it_is and fact.name in CONDITIONS)

# One burst at a time in this process: several would hand the interpreter to each other, and checks wait for them all.
bursts = Lock()

Row = tuple[RawId, datetime, RawId, str, str | None, bool, str | None, str]  # the values of COLUMNS
COLUMNS = ("id", "created", "content_id", "requester__requester_id", "permission", "allowed", "reason", "facts")


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a replay came to. `since`: the first decision counted, None for none; `end` is not part of the window."""

    draft: CompiledPolicy
    start: datetime
    end: datetime
    since: datetime | None
    truncated: bool  # there were more decisions since `start` than were replayed
    tally: ReplayTotals
    at_stake: dict[str, Decimal]  # by currency: what the decisions that would be denied have earned


def window_of(
    now: datetime, period: str | None, start: datetime | None, end: datetime | None
) -> tuple[datetime, datetime]:
    """The first moment and the one after the last, as in a report. ValidationFailed for a start after the end."""
    end = end or end_of_day(now)
    if start is None:
        start = min(BEGINNING, end - MICROSECOND)
        period = period or USAGE.period
        if period != ALL and end - BEGINNING > PERIODS[period] * DAY:
            start = start_of_period(end, period)
    if start >= end:
        raise ValidationFailed("Must not be after endDate.", param="startDate")
    return start, end


def draft_of(policy: Policy, fields: Mapping[str, Any]) -> CompiledPolicy:
    """The policy with the rules and the default action given, as a draft; as it is saved, if neither is given."""
    if not {"rules", "default_action"} & fields.keys():
        return CompiledPolicy.of(policy.pk, policy.version, policy.default_action, parse_rules(policy.rules))
    rules = parse_rules(fields.get("rules", policy.rules))
    return CompiledPolicy.of(None, None, fields.get("default_action", policy.default_action), rules)


def simulate(
    policy: Policy, draft: CompiledPolicy, start: datetime, end: datetime, limit: int | None = None
) -> Simulation:
    """Replays the newest `limit` decisions from `start` until before `end`, on items that now link to the policy.

    Counting begins with the longest window of a rate limit under way at `start`, as far as the limit reaches. A draft
    with more than a hundred conditions gets fewer decisions. Raises ClientGone.
    """
    events = AccessEvent.objects.filter(
        account_id=policy.account_id, content__policy_id=policy.pk, content__deleted_at=None, created__lt=end
    ).filter(created__gte=earliest_window(draft, max(start, BEGINNING)))
    tests = tests_of(draft)
    limit = min(limit or MAX_DECISIONS, MAX_TESTS // max(tests, 1))
    turn = max(1, TURN // (TESTS_OF_READING + tests))
    oldest = list(events.order_by("-created", "-id").values_list("created", "id")[limit - 1 : limit + 1])
    cut = oldest[0] if len(oldest) > 1 else None
    replay = Replay(draft, start)
    at_stake: dict[str, Decimal] = {}
    since = None
    earns = LedgerEntry.objects.filter(account_id=policy.account_id).exists()
    asked = {condition.name for rule in draft.rules for condition in rule.conditions}
    unread = UNREAD - asked
    if cut is not None:
        events = events.filter(TupleGreaterThanOrEqual(Tuple(F("created"), F("id")), cut))
    for chunk in chunks(events.order_by("created", "id").values_list(*COLUMNS)):
        check_client_connected()
        denied = []
        for begin in range(0, len(chunk), turn):
            with bursts:
                began = perf_counter()
                for row in chunk[begin : begin + turn]:
                    past = past_of(row, unread)
                    change = replay.see(past)
                    if change is not None and past.allowed:
                        denied.append(past.id)
                    if since is None and past.facts.now >= start:
                        since = past.facts.now
            # As long as it has taken, waiting for the interpreter included: the busier others are, the more they get.
            sleep(min(perf_counter() - began, LONGEST_PAUSE))
        if earns:
            add_charges(at_stake, denied)
    return Simulation(draft, start, end, since, cut is not None and cut[0] > start, replay.tally, at_stake)


def tests_of(draft: CompiledPolicy) -> int:
    """How many conditions a decision by the draft may test."""
    return sum(len(rule.tests) for rule in draft.rules)


def chunks(events: QuerySet[AccessEvent, Any]) -> Iterator[list[Row]]:
    """The rows of one query as the database gives them: converting them as models do would take most of the time.

    PostgreSQL keeps the result for a cursor that outlives its transaction, SQLite reads on as it is asked.
    """
    statement, parameters = events.query.sql_with_params()
    all_at_once = connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
    with connection.cursor() if all_at_once else connection.chunked_cursor() as cursor:
        cursor.execute(statement, parameters)
        while rows := cursor.fetchmany(CHUNK):
            yield rows


def past_of(row: Row, unread: Iterable[str] = ()) -> Past:
    """The recorded decision without these facts: reading addresses takes a third of the time, and few policies ask for
    any."""
    key, created, content, requester_id, permission, allowed, reason, text = row
    facts = orjson.loads(text)
    for name in unread:
        facts.pop(name, None)
    return Past(
        id=key,
        content=content,
        allowed=allowed,
        reason=reason,
        facts=facts_of_event(facts, requester_id, permission, aware(created)),
    )


def aware(moment: datetime) -> datetime:
    """SQLite keeps UTC without saying so."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def add_charges(at_stake: dict[str, Decimal], decisions: list[RawId]) -> None:
    """Adds what these decisions have earned: a charge's entry has its decision's id, but for the prefix."""
    entries = [ids.encode("led", ids.raw_bytes(key)) for key in decisions]
    for amount, currency in LedgerEntry.objects.filter(pk__in=entries).values_list("amount", "currency"):
        at_stake[currency] = at_stake.get(currency, Decimal(0)) + amount
