"""Erase the personal data of a requester: first its row, then every copy in other tables.

Decisions, totals, the ledger, licences and wallets remain under a pseudonym.

`begin` commits the pseudonym and invalidates caches. Decisions being recorded at that moment may still contain the
former data, so `finish` waits for them before it redacts. `erasing` stores the remaining work, so that the upkeep of
another process finishes it after a crash. On SQLite, `finish` commits in parts and lets other writers in between.
"""

import secrets
from typing import cast

from django.db import connection, transaction

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
    for one in (locked, *Requester.objects.select_for_update().filter(merged_into=locked).order_by("pk")):
        replace_by_pseudonym(one)
    return locked


def replace_by_pseudonym(locked: Requester) -> None:
    """Begin the erasure of one requester. An erased one keeps its pseudonym and loses what it was given since."""
    texts, is_new = texts_of(locked), not locked.is_erased
    has_data = bool(locked.name or locked.email or locked.notes or locked.metadata)
    if locked.erasing is None:
        locked.erasing = {"id": locked.requester_id, "texts": texts}
    else:  # an interrupted erasure has the former id; what was given since is stored under the pseudonym
        erasing = cast("dict[str, list[str]]", locked.erasing)
        locked.erasing = {**erasing, "later": [*erasing.get("later", []), *texts]}
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


def texts_of(requester: Requester) -> list[str]:
    values = [requester.name, requester.email, requester.notes, *requester.metadata.values()]
    return [value for value in values if isinstance(value, str)]


def finish(number: int) -> None:
    """Redact every copy of the requester's data in other tables. Idempotent. Do not call it inside a transaction."""
    if connection.vendor == "postgresql":
        wait_for_recordings()
    with whole():
        requester = Requester.objects.select_for_update().get(pk=number)
        for one in (requester, *Requester.objects.select_for_update().filter(merged_into=requester).order_by("pk")):
            finish_one(one)


def finish_one(requester: Requester) -> None:
    """Redact the copies of one requester's data, then note that nothing remains."""
    while requester.erasing is not None:
        done = requester.erasing
        Copies(requester).redact()
        if (later := done.get("later")) is not None:
            requester.erasing = {"id": requester.requester_id, "texts": later}
            Copies(requester).redact()
        with part():
            requester.refresh_from_db()
            if requester.erasing == done:  # otherwise somebody has erased what was given since
                requester.erasing = None
                requester.save(update_fields=["erasing"])


def finish_all() -> int:
    """Finish interrupted erasures; return their number."""
    waiting = list(Requester.objects.filter(erasing__isnull=False).values_list("pk", flat=True))
    for number in waiting:
        finish(number)
    return len(waiting)
