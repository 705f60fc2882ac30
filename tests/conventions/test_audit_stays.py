import pytest
from django.db import IntegrityError, connection, transaction

from accounts.models import AuditEntry
from tests import auditlog


@pytest.mark.parametrize(
    "tamper",
    [
        lambda entry: AuditEntry.objects.filter(pk=entry.pk).update(action="x"),
        lambda entry: AuditEntry.objects.filter(pk=entry.pk).delete(),
        lambda entry: entry.delete(),
        lambda entry: entry.save(),
        lambda entry: connection.cursor().execute("DELETE FROM accounts_auditentry"),
        lambda entry: connection.cursor().execute("UPDATE accounts_auditentry SET actor_name = 'x'"),
    ],
    ids=["update", "delete", "delete one", "save", "DELETE", "UPDATE"],
)
def test_the_database_refuses_to_change_an_entry(account, tamper):
    [entry] = before = auditlog.entries(resource_id=account.pk)
    with pytest.raises(IntegrityError, match="The audit log only grows"), transaction.atomic():
        tamper(entry)
    assert [(one.pk, one.action) for one in auditlog.entries(resource_id=account.pk)] == [
        (one.pk, one.action) for one in before
    ]


def test_postgresql_refuses_to_empty_it_too(account):
    if connection.vendor == "postgresql":
        with pytest.raises(IntegrityError, match="The audit log only grows"), transaction.atomic():
            connection.cursor().execute("TRUNCATE accounts_auditentry CASCADE")
    assert auditlog.entries(resource_id=account.pk)


def test_it_outlives_the_account(account):
    owner = account.pk
    account.delete()
    assert [entry.action for entry in auditlog.entries(account_id=owner)] == ["account.created"]
