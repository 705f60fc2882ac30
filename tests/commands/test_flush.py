from decimal import Decimal

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import DatabaseError

from accounts.models import Account, AuditEntry
from analytics.models import LedgerEntry
from licensing.access.tokens.signing import current_signer, key_set
from tests import emptying, factories

pytestmark = pytest.mark.django_db(transaction=True)


def flush():
    call_command("flush", interactive=False, verbosity=0)


def make_ledger_entry():
    factories.license(factories.account(), price_amount=Decimal(5), price_currency="USD")
    assert LedgerEntry.objects.exists()


@pytest.mark.parametrize("empty", [flush, lambda: emptying.empty_tables(emptying.extents_of_made())])
def test_tests_can_empty_append_only_tables_which_stay_append_only(empty):
    """Django's way, for tests without the fixtures of this suite, and the quick one of this suite."""
    make_ledger_entry()
    empty()
    assert not any(model.objects.exists() for model in (Account, AuditEntry, LedgerEntry))
    make_ledger_entry()
    for model in (AuditEntry, LedgerEntry):
        with pytest.raises(DatabaseError):
            model.objects.all().delete()


def test_after_a_flush_decisions_are_signed_by_a_new_key():
    former = current_signer()
    assert current_signer() is former
    flush()
    assert current_signer().kid in {key["kid"] for key in key_set()["keys"]}


def test_nobody_else_can(monkeypatch):
    make_ledger_entry()
    monkeypatch.delattr(mail, "outbox")  # as outside a test runner
    with pytest.raises(CommandError):
        flush()
    assert Account.objects.exists()
    assert AuditEntry.objects.exists()
    assert LedgerEntry.objects.exists()
