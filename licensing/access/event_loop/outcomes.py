"""Outcomes of checks: what the database said about their records, and their labels in metrics."""

from collections.abc import Sequence

from accounts.retries.idempotency import KeyTaken
from analytics.recording.outcomes import Outcome, too_late
from kit.http.errors import ApiError, ClientGone
from licensing.access.answers import Answer
from licensing.access.event_loop.metrics import ALLOWED, DRY_RUN, ERROR
from licensing.access.event_loop.snapshot import Snapshot


def stale_outcomes(snapshot: Snapshot, account_id: str, epoch: int, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return what was not stored; note its epoch. Raises KeyTaken, ClientGone, or ServiceUnavailable if late."""
    stale = [outcome for outcome in outcomes if outcome.stale]
    if outcomes[0].behind:
        snapshot.note(account_id, epoch + 1)
    if not stale:
        return stale
    if any(outcome.taken for outcome in stale):
        raise KeyTaken
    if any(outcome.unawaited for outcome in stale):
        raise ClientGone()
    if any(outcome.late for outcome in stale):
        raise too_late()
    if not all(outcome.retry for outcome in stale):
        snapshot.note(account_id, epoch + 1)
    return stale


def outcomes_of(answers: Sequence[Answer | ApiError]) -> list[str]:
    """Return the metric label of each answer."""
    return [
        ERROR if isinstance(answer, ApiError) else (DRY_RUN if answer.dry_run else answer.decision.reason or ALLOWED)
        for answer in answers
    ]
