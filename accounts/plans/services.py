"""Create, change and suspend accounts, for endpoints, commands and the admin."""

from collections.abc import Mapping

from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from accounts.plans.models import Account
from kit.storage.reading import stored_now
from kit.values.calendar import zone_named

# Sent in the transaction of the change with the changed `account`, which is locked.
time_zone_changed = Signal()


@transaction.atomic
def create_account(name: str, **fields: object) -> Account:
    """Create an account with these fields of the model. Raises Django's ValidationError by field."""
    # A process of the version before may run while others have history of its form.
    seals_history = not Account.objects.filter(seals_history=False).exists()
    account = Account(name=name, seals_history=seals_history, **fields)
    account.full_clean()
    account.save()
    audit.record("account.created", account, {})
    return account


@transaction.atomic
def update_account(account: Account, fields: Mapping[str, object]) -> Account:
    """Change the account, effective with the next request. Raises Django's ValidationError."""
    locked = Account.objects.select_for_update().get(pk=account.pk)
    before = locked.audited()
    for name, value in fields.items():
        setattr(locked, name, value)
    locked.full_clean()
    if locked.audited() == before:
        return locked
    changed = list(fields)
    has_moved = locked.time_zone != before["timeZone"]
    if has_moved:
        changed += keep_months(locked, str(before["timeZone"]))
    locked.save(update_fields=changed)
    if has_moved:
        time_zone_changed.send(Account, account=locked)
    audit.record("account.updated", locked, before)
    epochs.invalidate(locked.pk, epochs.EVERYTHING)
    return locked


def keep_months(account: Account, former: str) -> list[str]:
    """Let months that have begun end in the former time zone, after the account's has changed.

    Returns the fields to save.
    """
    now = stored_now()
    months = account.months._replace(zone=zone_named(former)).changed_to(account.zone, now)
    if account.time_zone_since is None or account.time_zone_since <= now:
        account.former_time_zone = former
    account.time_zone_since = months.since
    return ["former_time_zone", "time_zone_since"]


@transaction.atomic
def suspend_account(account: Account, *, suspended: bool = True) -> Account:
    """Refuse all keys of the account, or accept them again; nothing else changes."""
    locked = Account.objects.select_for_update().get(pk=account.pk)
    if (locked.suspended_at is not None) != suspended:
        before = locked.audited()
        locked.suspended_at = timezone.now() if suspended else None
        locked.save(update_fields=["suspended_at"])
        audit.record("account.suspended" if suspended else "account.resumed", locked, before)
        epochs.invalidate(locked.pk, epochs.EVERYTHING)
    return locked
