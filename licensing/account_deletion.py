"""Delete accounts with everything they own except their audit log."""

from collections.abc import Iterable
from time import monotonic, sleep
from typing import NamedTuple

from django.apps import apps
from django.db import OperationalError, transaction
from django.db.models import ForeignKey, Model

from accounts.auditing import audit
from accounts.models import Account, AuditEntry
from accounts.plans import epochs
from accounts.webhooks.models import WebhookEndpoint
from analytics.models import Entry, LedgerEntry
from kit.http.errors import InUse, NotFound, ValidationFailed
from kit.storage.lock_waits import transaction_lock_timeout
from kit.storage.reading import committed_until, stored_now

LOCK_WAIT = "500ms"  # less than PostgreSQL's deadlock_timeout of one second
CONFLICTS = ("55P03", "40P01")  # lock_not_available, deadlock_detected
PATIENCE_SECONDS = 60
PAUSE_SECONDS = 0.1
CHECKS_END_SECONDS = 10  # a check that saw the account is then recorded, or has failed (STATEMENT_SECONDS)


class OwnedModel(NamedTuple):
    """A model of account data, and its lookup path to the account."""

    model: type[Model]
    account_lookup: str


def keeps_ledger(account: Account) -> bool:
    """Return whether the account's ledger prevents deletion: it has entries, and the account is not a demo."""
    return not account.is_demo and LedgerEntry.objects.filter(account=account).exists()


def delete_account(account: Account) -> int:
    """Delete an account and its rows; return the number of rows.

    Raises ValidationFailed if its ledger must be kept. Raises InUse if other transactions keep its rows locked for
    PATIENCE_SECONDS. A database trigger also refuses to delete ledgers of accounts that are not demos.
    """
    deadline = monotonic() + PATIENCE_SECONDS
    while True:
        try:
            removed = delete_at_once(account)
            break
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) not in CONFLICTS:
                raise
            if monotonic() > deadline:
                raise InUse(f"Others change {account.pk} all the time. Suspend it, and delete it then.") from None
        sleep(PAUSE_SECONDS)  # holding no lock, so that the other transaction can finish
    return removed + delete_late_records(account.pk)


@transaction.atomic
def delete_at_once(account: Account) -> int:
    """Delete the account. Raises OperationalError with one of CONFLICTS if others have locked its rows.

    Locks the account first and its webhook endpoints next, like requests and deliveries. Some transactions, such as an
    operator's, lock a row before the account; this one gives way to them: its lock timeout is shorter than
    PostgreSQL's deadlock timeout, so PostgreSQL never cancels the other transaction.
    """
    with transaction_lock_timeout(LOCK_WAIT):
        if not Account.objects.select_for_update().filter(pk=account.pk).exists():
            raise NotFound(f"There is no account '{account.pk}'.")
        epochs.lock_epoch(account.pk)
        lock_webhook_endpoints(account.pk)
        if keeps_ledger(account):
            raise ValidationFailed(
                f"{account.pk} has a ledger, which is kept for ever. Suspend it instead.", param="id"
            )
        removed = delete_rows(account.pk, models_in_deletion_order())
        audit.record("account.deleted", account, account.audited(), {})
        Account.objects.filter(pk=account.pk)._raw_delete("default")
    return removed


def lock_webhook_endpoints(account_id: str) -> None:
    endpoints = WebhookEndpoint.objects.filter(account_id=account_id)
    list(endpoints.select_for_update().order_by("pk").values_list("pk"))


def delete_late_records(account_id: str) -> int:
    """Delete what checks recorded until the account was gone; return the number of rows.

    On PostgreSQL the statement that records a check locks no account, so it sees one that is being deleted. What it
    charges stays: the ledger's trigger permits deletion only while the account exists as a demo.
    """
    deleted_at = stored_now()
    deadline = monotonic() + CHECKS_END_SECONDS
    while committed_until(deleted_at) < deleted_at and monotonic() < deadline:
        sleep(PAUSE_SECONDS)
    with transaction.atomic():
        return delete_rows(account_id, [owned for owned in models_in_deletion_order() if owned.model is not Entry])


def delete_rows(account_id: str, models: Iterable[OwnedModel]) -> int:
    removed = 0
    for owned in models:
        rows = owned.model._base_manager.filter(**{owned.account_lookup: account_id})
        removed += rows._raw_delete(rows.db)
    return removed


def models_in_deletion_order() -> list[OwnedModel]:
    """Return the models of account data; referring models come first."""
    managed = (model for model in apps.get_models(include_auto_created=True) if model._meta.managed)
    models = (model for model in managed if model is not AuditEntry)
    lookups = {model: account_lookup(model) for model in models}
    remaining = {model: lookup for model, lookup in lookups.items() if lookup}
    ordered: list[OwnedModel] = []
    while remaining:
        referred_models = {key.related_model for model in remaining for key in foreign_keys(model)}
        unreferenced = [model for model in remaining if model not in referred_models]
        ordered += [OwnedModel(model, remaining.pop(model)) for model in unreferenced]
    return ordered


def account_lookup(model: type[Model]) -> str:
    """Return the lookup path to the account, such as `account` or `policy__account`; empty if there is none."""
    keys = foreign_keys(model)
    for key in keys:
        if key.related_model is Account:
            return key.name
    for key in keys:
        lookup = account_lookup(key.related_model)
        if lookup:
            return f"{key.name}__{lookup}"
    return ""


def foreign_keys(model: type[Model]) -> list[ForeignKey[Model, Model]]:
    return [
        field for field in model._meta.fields if isinstance(field, ForeignKey) and field.related_model is not model
    ]
