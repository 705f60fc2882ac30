"""Erase the personal data of a requester: first its row, then every copy in other tables.

Decisions, totals, the ledger, licences and wallets remain under a pseudonym.

`begin` commits the pseudonym and invalidates caches. Decisions being recorded at that moment may still contain the
former data, so `finish` waits for them before it redacts. `erasing` stores the remaining work, so that the upkeep of
another process finishes it after a crash. On SQLite, `finish` commits in parts and lets other writers in between.
"""

import secrets
from typing import cast

from django.db import connection, transaction
from django.db.models import F

from accounts.auditing import audit
from accounts.plans import epochs
from licensing.clients.models import LicenseClient
from licensing.clients.services import revoke_client
from licensing.customers.erased_copies import Copies, part, whole
from licensing.customers.recordings import wait_for_recordings
from licensing.requesters import services
from licensing.requesters.models import Requester


def erase(requester: Requester) -> Requester:
    """Erase the requester's personal data. Do not call it inside a transaction."""
    erased = begin(requester)
    finish(erased.pk)
    return erased


@transaction.atomic
def begin(requester: Requester) -> Requester:
    """Replace the requester's id by a pseudonym and clear its row, and those of requesters merged into it.

    Revokes its licence clients, and ends its portal sessions. Raises NotFound.
    """
    epochs.hold(requester.account_id)
    locked = services.get(requester.account_id, requester.requester_id, lock=True)
    for person in (locked, *Requester.objects.select_for_update().filter(merged_into=locked).order_by("pk")):
        replace_by_pseudonym(person)
    return locked


def replace_by_pseudonym(locked: Requester) -> None:
    """Begin the erasure of one requester. An erased one keeps its pseudonym and loses what it was given since."""
    is_new = not locked.is_erased
    has_data = bool(locked.name or locked.email or locked.notes or locked.metadata)
    # An interrupted erasure has the former id. It starts over for what was given since.
    erasing = cast("dict[str, object]", locked.erasing or {"id": locked.requester_id, "begun": 0})
    locked.erasing = {"id": erasing["id"], "begun": cast(int, erasing.get("begun", 0)) + 1}
    if is_new:
        locked.requester_id, locked.is_erased = f"erased_{secrets.token_hex(12)}", True
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
        epochs.bump(locked.account_id, {locked.epoch_name})


def finish(number: int) -> None:
    """Redact every copy of the requester's data in other tables. Idempotent. Do not call it inside a transaction."""
    if connection.vendor == "postgresql":
        wait_for_recordings()
    with whole():
        people = requester_with_merged(number)
        while any(person.erasing is not None for person in people):
            Copies(people).redact()
            with part():
                note_finished(people)
            people = requester_with_merged(number)


def requester_with_merged(number: int) -> list[Requester]:
    """Return the requester and those that were merged into it, locked."""
    rows = Requester.objects.select_for_update()
    return [rows.get(pk=number), *rows.filter(merged_into=number).order_by("pk")]


def note_finished(people: list[Requester]) -> None:
    """Clear `erasing`, unless another erasure has begun since."""
    begun = {person.pk: person.erasing for person in people}
    for person in Requester.objects.select_for_update().filter(pk__in=begun).order_by("pk"):
        if person.erasing == begun[person.pk]:
            person.erasing = None
            person.save(update_fields=["erasing"])


def finish_all() -> int:
    """Finish interrupted erasures; return their number."""
    # Those that others were merged into come first: they include the others.
    unfinished = Requester.objects.filter(erasing__isnull=False).order_by(F("merged_into").asc(nulls_first=True))
    waiting = list(unfinished.values_list("pk", flat=True))
    for number in waiting:
        finish(number)
    return len(waiting)
