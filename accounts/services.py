"""What can be done with accounts and keys; endpoints, commands and the admin all call these."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts import audit, epochs, keytext
from accounts.authentication import Grant
from accounts.models import Account, ApiKey, IdempotencyRecord
from accounts.permissions import DEFAULTS, NEVER_PUBLIC, allows
from config.api.errors import InsufficientPermissions, ValidationFailed

MAX_OVERLAP_SECONDS = 604_800


def check_no_more_than(grant: Grant | None, permissions: list[str]) -> None:
    """Raises InsufficientPermissions for what the creating key lacks itself; an operator (None) lacks nothing."""
    if grant is None:
        return
    for permission in permissions:
        if not allows(grant.permissions, permission):
            raise InsufficientPermissions(f"A key cannot grant {permission}, which it lacks itself.")


def check_permissions_of_type(key_type: str, permissions: list[str]) -> None:
    if key_type == "public":
        for index, permission in enumerate(permissions):
            if not permission.endswith(":read") or permission in NEVER_PUBLIC:
                raise ValidationFailed(
                    f"A public key can only read: it cannot have {permission}.", param=f"permissions[{index}]"
                )


@transaction.atomic
def create_api_key(
    account_id: str,
    *,
    name: str,
    type: str,  # noqa: A002 - the field's name everywhere
    permissions: list[str] | None = None,
    allowed_ips: list[str] | None = None,
    expires_at: datetime | None = None,
    granted_by: Grant | None = None,
    key_id: str | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its text, which exists nowhere else. `key_id` is an id for it that no key has yet."""
    granted = list(dict.fromkeys(DEFAULTS[type] if permissions is None else permissions))
    check_permissions_of_type(type, granted)
    check_no_more_than(granted_by, granted)
    text = keytext.generate(type)
    key = ApiKey.objects.create(
        **({} if key_id is None else {"pk": key_id}),
        account_id=account_id,
        name=name,
        type=type,
        prefix=text[: keytext.PREFIX_CHARACTERS],
        digest=keytext.digest(text),
        permissions=granted,
        allowed_ips=allowed_ips or [],
        expires_at=expires_at,
    )
    audit.record("api_key.created", key, {})
    return key, text


@transaction.atomic
def revoke_api_key(key: ApiKey) -> ApiKey:
    """Ends a key at once; one that was revoked before keeps its time."""
    locked = ApiKey.objects.select_for_update().get(pk=key.pk)
    if locked.revoked_at is None:
        before = locked.audited()
        locked.revoked_at = timezone.now()
        locked.save(update_fields=["revoked_at"])
        audit.record("api_key.revoked", locked, before)
        epochs.bump(locked.account_id)
    return locked


@transaction.atomic
def rotate_api_key(
    key: ApiKey, *, overlap_seconds: int = 0, granted_by: Grant | None = None, key_id: str | None = None
) -> tuple[ApiKey, str]:
    """A new key with the same grants; the old one ends after the overlap, or before if it would have anyway."""
    old = ApiKey.objects.select_for_update().get(pk=key.pk)
    now = timezone.now()
    if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= now):
        raise ValidationFailed("This key has ended already, so there is nothing to rotate. Create a new one.")
    before = old.audited()
    new, text = create_api_key(
        old.account_id,
        name=old.name,
        type=old.type,
        permissions=old.permissions,
        allowed_ips=old.allowed_ips,
        expires_at=old.expires_at,
        granted_by=granted_by,
        key_id=key_id,
    )
    if overlap_seconds == 0:
        old.revoked_at = now
    else:
        end = now + timedelta(seconds=overlap_seconds)
        old.expires_at = min(end, old.expires_at or end)
    old.save(update_fields=["revoked_at", "expires_at"])
    audit.record("api_key.rotated", old, before)
    epochs.bump(old.account_id)
    return new, text


@transaction.atomic
def create_account(
    name: str,
    *,
    plan: str,
    requests_per_minute: int | None = None,
    requests_per_day: int | None = None,
    account_id: str | None = None,
) -> Account:
    """A new account. `account_id` is an id for it that none has yet. Raises Django's ValidationError by the field."""
    account = Account(
        **({} if account_id is None else {"pk": account_id}),
        name=name,
        plan=plan,
        requests_per_minute=requests_per_minute,
        requests_per_day=requests_per_day,
    )
    account.full_clean()
    account.save()
    audit.record("account.created", account, {})
    return account


@transaction.atomic
def update_account(account: Account, fields: dict[str, Any]) -> Account:
    """Changes the name or the plan, whose limits hold from the next request on. Raises Django's ValidationError."""
    locked = Account.objects.select_for_update().get(pk=account.pk)
    before = locked.audited()
    for name, value in fields.items():
        setattr(locked, name, value)
    locked.full_clean()
    locked.save(update_fields=list(fields))
    audit.record("account.updated", locked, before)
    epochs.bump(locked.pk)
    return locked


def purge_idempotency_keys(now: datetime | None = None) -> int:
    """Deletes the records whose 24 hours are over; returns how many."""
    oldest = (now or timezone.now()) - IdempotencyRecord.LIFETIME
    return IdempotencyRecord.objects.filter(created__lte=oldest).delete()[0]
