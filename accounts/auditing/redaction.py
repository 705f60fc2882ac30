"""Redacting append-only tables: the one change that their triggers let through.

The triggers of the audit log, the ledger and closed statements refuse updates unless the table `accounts_redaction`
has a row, and then permit only columns that can hold personal data. The row exists only inside the transaction that
redacts: no other transaction ever sees it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from accounts.auditing.models import Redaction


@contextmanager
def redacting() -> Iterator[None]:
    """Let this transaction update the columns of append-only tables that can hold personal data."""
    with transaction.atomic():
        permit = Redaction.objects.create()
        yield
        permit.delete()
