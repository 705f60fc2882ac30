"""Prometheus metrics of access checks. Counting on the event loop takes well under a microsecond."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter

from analytics.recording.outcomes import Outcome
from kit.http.errors import ApiError
from kit.telemetry.metrics import Counter, Gauge, Histogram, WorstGauge
from kit.telemetry.observing import REFUSED_AT, refused
from licensing.access.deciding import Answer
from licensing.policies.decision import Reason

CHECK, BATCH = "/v1/access/check", "/v1/access/check/batch"
FORWARDED = "/v1/access/forward"  # also stands for Envoy's path
ALLOWED, DRY_RUN, ERROR = "allowed", "dry_run", "error"
OUTCOMES = (ALLOWED, *map(str, Reason), DRY_RUN, ERROR)
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

checks = Counter(
    "licensing_access_checks",
    "Access checks answered: allowed, denied for a reason, decided as a dry run, or in error (no such item).",
    outcome=OUTCOMES,
)
durations = Histogram(
    "licensing_access_check_duration_seconds",
    "Time to answer a request for access checks on the event loop, from its head to its reply.",
    SECONDS,
    route=(CHECK, BATCH, FORWARDED),
    status=("2xx", "4xx", "5xx"),
)
facts = Counter(
    "licensing_snapshot_lookups",
    "Items, requesters and keys that checks needed: hit if this process had them cached, miss if they were read.",
    result=("hit", "miss"),
)
entries = Gauge("licensing_snapshot_entries", "Facts and keys that are cached, current ones or not.")
commits = Histogram(
    "licensing_recorder_commit_duration_seconds", "Time of one commit, of the decisions of many requests.", SECONDS
)
batches = Histogram(
    "licensing_recorder_batch_size_decisions",
    "Decisions in one commit.",
    (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
)
failures = Counter("licensing_recorder_failures", "Commits that failed; their requests got a 503 and no decision.")
stale = Counter("licensing_recorder_stale_decisions", "Decisions not stored, for their facts had changed meanwhile.")
postponed = Counter("licensing_recorder_postponed_decisions", "Decisions not stored, for want of room in their batch.")
waiting = Gauge("licensing_recorder_waiting_requests", "Requests whose decisions wait for their commit to begin.")
loop_delay = WorstGauge("licensing_event_loop_delay_seconds", "How much later than asked the event loop last woke up.")

# Looked up once.
OUTCOME_AT = {outcome: checks.place(outcome) for outcome in OUTCOMES}
looked_up, HIT, MISS = facts.values, facts.place("hit"), facts.place("miss")
DURATION_AT = {
    (path, status): durations.place(path, f"{status}xx") for path in (CHECK, BATCH, FORWARDED) for status in (2, 4, 5)
}
REFUSED_HERE = REFUSED_AT["gateway"]


# --- On the event loop -----------------------------------------------------------------------------------------------


def count_checks(answers: Iterable[Answer | ApiError]) -> None:
    """Count the answers to checks by outcome."""
    counts = checks.values
    for answer in answers:
        if isinstance(answer, ApiError):
            outcome = ERROR
        elif answer.dry_run:
            outcome = DRY_RUN
        else:
            outcome = answer.decision.reason or ALLOWED
        counts[OUTCOME_AT[outcome]] += 1


def count_request(path: str, status: int, seconds: float) -> None:
    durations.observe(DURATION_AT[path, status // 100], seconds)
    if status in REFUSED_HERE:
        refused.values[REFUSED_HERE[status]] += 1


def count_commit(seconds: float, outcomes: Iterable[Outcome], sizes: Sequence[int]) -> None:
    """Record the metrics of a commit. `sizes` are the numbers of decisions per outcome."""
    commits.observe(0, seconds)
    batches.observe(0, sum(sizes))
    for outcome, size in zip(outcomes, sizes, strict=True):
        if outcome.unstored is not None:
            (postponed if outcome.may_hold else stale).values[0] += size


async def sample(note_state: Callable[[], None], every: float = 1.0) -> None:
    """Set the gauges each second. A scrape may reach any process and reads the values of all."""
    while True:
        begun = perf_counter()
        await asyncio.sleep(every)
        loop_delay.values[0] = max(perf_counter() - begun - every, 0.0)
        note_state()
