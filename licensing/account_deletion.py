"""Deleting accounts, with all that is theirs but their entries in the audit log."""

from django.apps import apps
from django.db import transaction
from django.db.models import ForeignKey, Model

from accounts.auditing import audit
from accounts.models import Account, AuditEntry
from accounts.plans import epochs
from analytics.models import LedgerEntry
from kit.http.errors import ValidationFailed


def keeps_ledger(account: Account) -> bool:
    """Whether its ledger keeps it from being deleted: that of any account but a demo."""
    return not account.is_demo and LedgerEntry.objects.filter(account=account).exists()


@transaction.atomic
def delete_account(account: Account) -> int:
    """Deletes an account and its rows; returns how many. Raises ValidationFailed for one that has to keep its ledger.

    The database itself refuses to delete the ledger of an account that is no demo.
    """
    epochs.hold(account.pk)
    if keeps_ledger(account):
        raise ValidationFailed(f"{account.pk} has a ledger, which is kept for ever. Suspend it instead.", param="id")
    removed = 0
    for model, way in in_order_of_deletion():
        rows = model._base_manager.filter(**{way: account.pk})
        removed += rows._raw_delete(rows.db)
    audit.record("account.deleted", account, account.audited(), {})
    Account.objects.filter(pk=account.pk)._raw_delete("default")
    return removed


def in_order_of_deletion() -> list[tuple[type[Model], str]]:
    """The models of what belongs to accounts, those that refer to others first, and each one's way to its account."""
    stored = (model for model in apps.get_models(include_auto_created=True) if model._meta.managed)
    models = (model for model in stored if model is not AuditEntry)
    waiting = {model: way for model in models if (way := way_to_account(model))}
    ordered: list[tuple[type[Model], str]] = []
    while waiting:
        referred = {key.related_model for model in waiting for key in foreign_keys(model)}
        free = [model for model in waiting if model not in referred]
        ordered += [(model, waiting.pop(model)) for model in free]
    return ordered


def way_to_account(model: type[Model]) -> str:
    """The lookup of the account's id: `account` or, of what belongs to a thing of an account, such as
    `policy__account`. Empty for what belongs to none."""
    keys = foreign_keys(model)
    if any(key.related_model is Account for key in keys):
        return next(key.name for key in keys if key.related_model is Account)
    ways = (f"{key.name}__{way}" for key in keys if (way := way_to_account(key.related_model)))
    return next(ways, "")


def foreign_keys(model: type[Model]) -> list[ForeignKey[Model, Model]]:
    return [
        field for field in model._meta.fields if isinstance(field, ForeignKey) and field.related_model is not model
    ]
