"""Check access in a transaction, on facts read in it (docs/reference/api.md).

For operators, and for the checks of licensing.access.event_loop.gateway that one statement cannot record.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from accounts.keys.authentication import unknown_key
from accounts.keys.callers import Caller
from accounts.plans import epochs
from accounts.plans.epochs import current_epoch
from accounts.retries.idempotency import try_run_once
from analytics.recording import recorder
from analytics.recording.entries import KeyClaim
from analytics.recording.outcomes import RECORDED_WITHIN, refuse_late_recording
from kit.http.errors import ApiError, ValidationFailed
from kit.storage.reading import read_snapshot
from kit.storage.sqlite_turns import turn_to_write
from kit.values import ids
from licensing.access.charging.paying import record_spending, rehearse_observed
from licensing.access.check_values import Check
from licensing.access.deciding import Answer
from licensing.access.decisions import decide_checks
from licensing.access.lookup.items import find_items
from licensing.access.lookup.requesters import assign_numbers, count_unnumbered, find_requesters, requesters_to_write
from licensing.access.subjects import LookupResult
from licensing.requesters.reserved_keys import reserve_numbers


def check_access(
    account_id: str, checks: Sequence[Check], now: datetime, caller: Caller | None = None
) -> Sequence[Answer | ApiError]:
    """Decide and record checks; return their answers in order.

    An answer is NotFound if the item does not exist. Dry runs are decided but not recorded. The number of queries does
    not depend on the number of checks.

    Raises ValidationFailed if SQLite cannot add up the charges; nothing is recorded then. Raises the caller's refusal
    if its key has changed since authentication. `caller` is None for operators.
    """
    if all(check.dry_run for check in checks):
        with read_snapshot():
            return attempt_checks(account_id, checks, now, current_epoch(account_id), caller)
    return check_and_record(account_id, checks, now, caller)


def check_for_caller(caller: Caller, checks: Sequence[Check], now: datetime) -> Sequence[Answer | ApiError]:
    return check_access(caller.grant.account_id, checks, now, caller)


def check_once(
    caller: Caller,
    checks: Sequence[Check],
    now: datetime,
    claim: KeyClaim,
    render: Callable[[Sequence[Answer | ApiError]], bytes],
) -> tuple[bytes, dict[str, str]]:
    """Do the same for a request with an Idempotency-Key, and store the reply that `render` makes.

    Returns the reply's body and its additional headers. It is the stored one if the key was used before. Raises
    KeyTaken and what `render` raises; nothing is recorded then.
    """

    def act() -> bytes:
        return render(check_for_caller(caller, checks, now))

    account_id = caller.grant.account_id
    with turn_to_write(), transaction.atomic():
        if not epochs.prevent_deletion(account_id):  # deleted since authentication
            raise unknown_key()
        return try_run_once(account_id, claim.key, bytes.fromhex(claim.fingerprint), act)


def check_and_record(
    account_id: str, checks: Sequence[Check], now: datetime, caller: Caller | None
) -> Sequence[Answer | ApiError]:
    with turn_to_write(), transaction.atomic():
        try:
            try:
                with transaction.atomic():  # releases the requesters' locks: the account must be locked first
                    return attempt_checks(account_id, checks, now, current_epoch(account_id), caller)
            except Stale:
                return attempt_checks(account_id, checks, now, epochs.lock_epoch(account_id), caller)
        except recorder.OVERFLOWS:
            raise ValidationFailed("The totals of the day cannot hold what this access costs.") from None


class Stale(Exception):
    """The account has changed since its facts were read, or another request has created the requester."""


def attempt_checks(
    account_id: str, checks: Sequence[Check], now: datetime, epoch: int, caller: Caller | None
) -> Sequence[Answer | ApiError]:
    """Decide and record the checks once. Raises Stale if the account's epoch has advanced."""
    grant = None if caller is None else caller.check_at(epoch, now)
    items = find_items(account_id, {check.selector for check in checks})
    every = {requester_id for check in checks for requester_id, _ in check.requesters}
    found = LookupResult(epoch, items, find_requesters(account_id, every))
    if named := requesters_to_write(checks, found):
        found = assign_numbers(found, named, reserve_numbers(count_unnumbered(named)))
    made = decide_checks(checks, found, ids.id_to_hex("acc", account_id), now, grant)
    if made.rehearsals:
        made = rehearse_observed(made)
    made, outcomes = record_spending(made) if made.spends else (made, recorder.record(made.entries))
    if not all(outcome.is_stored for outcome in outcomes):
        raise Stale
    if caller is not None:
        caller.check_presence()
        if made.entries and timezone.now() - now > RECORDED_WITHIN:
            refuse_late_recording()
    return made.settle(outcomes)
