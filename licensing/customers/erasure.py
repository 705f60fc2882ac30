"""Erase the personal data of a requester: first its row, then every copy in other tables.

Decisions, totals, the ledger, licences and wallets remain under a pseudonym.

`begin_erasure` commits the pseudonym and invalidates caches. Decisions being recorded at that moment may still contain
the former data, so `finish_erasure` waits for them before it redacts. `erasing` stores the remaining work, so that the
upkeep of another process finishes it after a crash. On SQLite, `finish_erasure` commits in parts and lets other
writers in between.
"""

from typing import TypedDict, cast
from uuid import uuid4

from django.db import transaction
from django.db.models import F

from accounts.auditing import audit
from accounts.plans import epochs
from kit.storage.sqlite_turns import empty_log
from licensing.clients.models import LicenseClient
from licensing.clients.services import revoke_client
from licensing.customers.erased_copies import Copies, one_transaction_on_postgresql, part_transaction_on_sqlite
from licensing.customers.pseudonyms import new_pseudonym
from licensing.customers.recordings import wait_for_recordings
from licensing.requesters import services
from licensing.requesters.models import Requester


class ErasureState(TypedDict):
    """The value of Requester.erasing."""

    id: str  # the former id
    begun: int  # number of attempts


def erase(requester: Requester) -> Requester:
    """Erase the requester's personal data. Do not call it inside a transaction."""
    erased = begin_erasure(requester)
    finish_erasure(erased.pk)
    return erased


@transaction.atomic
def begin_erasure(requester: Requester) -> Requester:
    """Replace the requester's id by a pseudonym and clear its row, and those of requesters merged into it.

    Revokes its licence clients, and ends its portal sessions. Raises NotFound.
    """
    epochs.lock_epoch(requester.account_id)
    locked = services.get_requester(requester.account_id, requester.requester_id, lock=True)
    for person in (locked, *Requester.objects.select_for_update().filter(merged_into=locked).order_by("pk")):
        replace_by_pseudonym(person)
    return locked


def replace_by_pseudonym(locked: Requester) -> None:
    """Begin the erasure of one requester. An erased one keeps its pseudonym and loses what it was given since."""
    is_new = not locked.is_erased
    has_data = bool(locked.name or locked.email or locked.notes or locked.metadata)
    locked.erasing = next_erasure_state(locked)
    if is_new:
        locked.requester_id = new_pseudonym()
        locked.is_erased = True
    locked.name = locked.email = locked.notes = None
    locked.metadata = {}
    locked.save()
    locked.former_names.all().delete()
    for client in LicenseClient.objects.filter(requester=locked, revoked_at=None):
        revoke_client(client)
    locked.portal_sessions.all().delete()
    if is_new or has_data:  # otherwise only others, such as payments, may have new data
        services.renew(locked)
        audit.record("requester.erased", locked, {})
        epochs.invalidate(locked.account_id, {locked.epoch_name})


def next_erasure_state(locked: Requester) -> ErasureState:
    """Return the state of a first attempt, or of one more. An interrupted erasure keeps the former id."""
    if locked.erasing is None:
        return {"id": locked.requester_id, "begun": 1}
    state = cast("ErasureState", locked.erasing)
    return {"id": state["id"], "begun": state.get("begun", 0) + 1}


def finish_erasure(requester_pk: int) -> None:
    """Redact every copy of the requester's data in other tables. Idempotent. Do not call it inside a transaction."""
    wait_for_recordings()
    with one_transaction_on_postgresql():
        people = requester_with_merged(requester_pk)
        while any(person.erasing is not None for person in people):
            Copies(people).redact()
            with part_transaction_on_sqlite():
                destroy_history_keys(people)
            people = requester_with_merged(requester_pk)
    empty_log()


def requester_with_merged(requester_pk: int) -> list[Requester]:
    """Return the requester and those that were merged into it, locked."""
    rows = Requester.objects.select_for_update()
    return [rows.get(pk=requester_pk), *rows.filter(merged_into=requester_pk).order_by("pk")]


def destroy_history_keys(people: list[Requester]) -> None:
    """Replace the people's keys, without which nothing can read their data in the audit log and in events.

    This cannot be undone. Clears `erasing`, unless another erasure has begun since.
    """
    finished_states = {person.pk: person.erasing for person in people}
    for person in Requester.objects.select_for_update().filter(pk__in=finished_states).order_by("pk"):
        person.history_key = uuid4()
        if person.erasing == finished_states[person.pk]:
            person.erasing = None
        person.save(update_fields=["history_key", "erasing"])


def finish_interrupted_erasures() -> int:
    """Finish interrupted erasures; return their number."""
    # Those that others were merged into come first: they include the others.
    unfinished = Requester.objects.filter(erasing__isnull=False).order_by(F("merged_into").asc(nulls_first=True))
    unfinished_pks = list(unfinished.values_list("pk", flat=True))
    for requester_pk in unfinished_pks:
        finish_erasure(requester_pk)
    return len(unfinished_pks)
