"""Operations on accounts and keys, for endpoints, commands and the admin."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import Any, TypedDict, Unpack

from django.db import transaction
from django.utils import timezone

from accounts import audit, epochs, keytext
from accounts.authentication import Grant
from accounts.models import Account, ActorType, ApiKey, AuditEntry
from accounts.permissions import DEFAULTS, NEVER_PUBLIC, allows
from kit.http.errors import InsufficientPermissions, Revoked, ValidationFailed
from kit.values.networks import joined, lies_within
from kit.values.timestamps import render_timestamp

MAX_OVERLAP_SECONDS = 604_800


class Bounds(TypedDict, total=False):
    """Where and for how long a key works: networks in CIDR notation ([]: anywhere), and its end (None: never)."""

    allowed_ips: list[str]
    expires_at: datetime | None


def lock_keys(*key_ids: str) -> dict[str, ApiKey]:
    """Lock the keys until the transaction ends, in the order of their ids, and return them by id."""
    keys = ApiKey.objects.select_related("account").select_for_update(of=("self",))
    return {key.pk: key for key in keys.filter(pk__in=key_ids).order_by("pk")}


def current_key(grant: Grant) -> ApiKey:
    """Lock and return the requesting key. Raises InvalidApiKey if it has ended since it was authenticated.

    Otherwise a request that is under way while its key is revoked could create a key that outlives it.
    """
    key = lock_keys(grant.key_id)[grant.key_id]
    Grant.of(key).check()
    return key


def check_no_more_than(creator: ApiKey, permissions: Iterable[str], bounds: Bounds) -> None:
    """Raises InsufficientPermissions for a key that could do more, for longer or from elsewhere than its creator."""
    for permission in permissions:
        if not allows(frozenset(creator.permissions), permission):
            raise InsufficientPermissions(f"A key cannot grant {permission}, which it lacks itself.")
    end = bounds["expires_at"]
    if creator.expires_at is not None and (end is None or end > creator.expires_at):
        raise InsufficientPermissions(
            f"A key cannot let another one outlive it. It expires at {render_timestamp(creator.expires_at)}.",
            param="expiresAt",
        )
    if not lie_within(bounds["allowed_ips"], creator.allowed_ips):
        raise InsufficientPermissions(
            "A key cannot let another one work from addresses outside its own allowlist.", param="allowedIps"
        )


def lie_within(allowed: list[str], own: list[str]) -> bool:
    """Whether every address of one allowlist is in the other; an empty list means all addresses."""
    if not own:
        return True
    networks = joined(ip_network(text) for text in own)
    return bool(allowed) and all(lies_within(ip_network(text), networks) for text in allowed)


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
    granted_by: Grant | None = None,
    key_id: str | None = None,
    seed: str | None = None,
    **bounds: Unpack[Bounds],
) -> tuple[ApiKey, str]:
    """A new key and its text, which exists nowhere else. `key_id` is an id for it that no key has yet, `seed` a secret
    of the caller from which the text can be made again (keytext.generate).

    A key that creates another (`granted_by`) passes its own bounds on where none are given, and can grant no more than
    it has itself. Operators and commands (None) are not bound.
    """
    granted = list(dict.fromkeys(DEFAULTS[type] if permissions is None else permissions))
    check_permissions_of_type(type, granted)
    if granted_by is None:
        within: Bounds = {"allowed_ips": [], "expires_at": None, **bounds}
    else:
        creator = current_key(granted_by)
        within = {**bounds_of(creator), **bounds}
        check_no_more_than(creator, granted, within)
    text = keytext.generate(type, seed)
    key = ApiKey.objects.create(
        **({} if key_id is None else {"pk": key_id}),
        account_id=account_id,
        name=name,
        type=type,
        prefix=text[: keytext.PREFIX_CHARACTERS],
        digest=keytext.digest(text),
        permissions=granted,
        **within,
    )
    audit.record("api_key.created", key, {})
    return key, text


def check_may_be_told(grant: Grant, key_id: str, permissions: list[str], bounds: Bounds) -> None:
    """Raise an ApiError unless the asking key may be shown the text of a key created earlier.

    The one that created it may be told again though a rotation has set its end in the meantime; another one only of a
    key that it could create itself.
    """
    asking = current_key(grant)
    made = AuditEntry.objects.filter(action="api_key.created", resource_id=key_id)
    if not made.filter(actor_type=ActorType.KEY, actor_id=asking.pk).exists():
        check_no_more_than(asking, permissions, bounds)


@transaction.atomic
def update_api_key(key: ApiKey, fields: Mapping[str, Any], *, changed_by: Grant | None = None) -> ApiKey:
    """Change the name, the addresses or the expiry of a key, which hold from the next request on.

    A key that changes one (`changed_by`) sets no bound beyond its own, and widens only a key that it could create
    itself. Operators and commands (None) are not bound. Raises Revoked, ValidationFailed and InsufficientPermissions.
    """
    keys = lock_keys(key.pk, *([changed_by.key_id] if changed_by else []))
    locked = keys[key.pk]
    if locked.revoked_at is not None:
        raise Revoked("This key is revoked, which is final. Create a new one.")
    before, was = locked.audited(), bounds_of(locked)
    for name in ("type", "permissions"):
        if fields.get(name, getattr(locked, name)) != getattr(locked, name):
            raise ValidationFailed(f"The {name} of a key cannot be changed. Create another key.", param=name)
    now: Bounds = {
        "allowed_ips": fields.get("allowed_ips", was["allowed_ips"]),
        "expires_at": fields.get("expires_at", was["expires_at"]),
    }
    end = now["expires_at"]
    if end is not None and end != was["expires_at"] and end <= timezone.now():
        raise ValidationFailed("Must be in the future. To end a key now, revoke it.", param="expiresAt")
    if changed_by is not None:
        changer = keys[changed_by.key_id]
        Grant.of(changer).check()
        check_may_change(changer, locked, now)
    locked.name = fields.get("name", locked.name)
    locked.allowed_ips, locked.expires_at = now["allowed_ips"], end
    if audit.changes(before, locked.audited()):
        locked.save(update_fields=["name", "allowed_ips", "expires_at"])
        audit.record("api_key.updated", locked, before)
        epochs.bump(locked.account_id, {locked.pk})
    return locked


def bounds_of(key: ApiKey) -> Bounds:
    return {"allowed_ips": key.allowed_ips, "expires_at": key.expires_at}


def check_may_change(changer: ApiKey, key: ApiKey, now: Bounds) -> None:
    """Raise InsufficientPermissions where a change of bounds gives the key what the changing key cannot give."""
    was, own = bounds_of(key), bounds_of(changer)
    if is_wider(now, was):
        check_no_more_than(changer, key.permissions, now)
        return
    check_no_more_than(
        changer,
        [],
        {
            "allowed_ips": (own if now["allowed_ips"] == was["allowed_ips"] else now)["allowed_ips"],
            "expires_at": (own if now["expires_at"] == was["expires_at"] else now)["expires_at"],
        },
    )


def is_wider(now: Bounds, before: Bounds) -> bool:
    """Whether a key works for longer, or from further addresses, than before."""
    end, old = now["expires_at"], before["expires_at"]
    lasts_longer = old is not None and (end is None or end > old)
    return lasts_longer or not lie_within(now["allowed_ips"], before["allowed_ips"])


@transaction.atomic
def revoke_api_key(key: ApiKey) -> ApiKey:
    """Revoke a key at once; a key already revoked keeps its time."""
    locked = ApiKey.objects.select_for_update().get(pk=key.pk)
    if locked.revoked_at is None:
        before = locked.audited()
        locked.revoked_at = timezone.now()
        locked.save(update_fields=["revoked_at"])
        audit.record("api_key.revoked", locked, before)
        epochs.bump(locked.account_id, {locked.pk})
    return locked


@transaction.atomic
def rotate_api_key(
    key: ApiKey,
    *,
    overlap_seconds: int = 0,
    granted_by: Grant | None = None,
    key_id: str | None = None,
    seed: str | None = None,
) -> tuple[ApiKey, str]:
    """A new key with the same grants; the old one ends after the overlap, or before if it would have anyway."""
    # Both at once: two keys that rotate each other at the same moment must not wait for each other.
    old = lock_keys(key.pk, *([granted_by.key_id] if granted_by else []))[key.pk]
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
        seed=seed,
    )
    if overlap_seconds == 0:
        old.revoked_at = now
    else:
        end = now + timedelta(seconds=overlap_seconds)
        old.expires_at = min(end, old.expires_at or end)
    old.save(update_fields=["revoked_at", "expires_at"])
    audit.record("api_key.rotated", old, before)
    epochs.bump(old.account_id, {old.pk})
    return new, text


@transaction.atomic
def create_account(
    name: str,
    *,
    plan: str,
    requests_per_minute: int | None = None,
    requests_per_day: int | None = None,
    account_id: str | None = None,
    is_demo: bool | None = None,
) -> Account:
    """A new account. `account_id` is an id for it that none has yet; a demo can be removed.

    Raises Django's ValidationError by the field.
    """
    account = Account(
        **({} if account_id is None else {"pk": account_id}),
        name=name,
        plan=plan,
        requests_per_minute=requests_per_minute,
        requests_per_day=requests_per_day,
        is_demo=is_demo,
    )
    account.full_clean()
    account.save()
    audit.record("account.created", account, {})
    return account


@transaction.atomic
def update_account(account: Account, fields: Mapping[str, object]) -> Account:
    """Changes the name or the plan, whose limits hold from the next request on. Raises Django's ValidationError."""
    locked = Account.objects.select_for_update().get(pk=account.pk)
    before = locked.audited()
    for name, value in fields.items():
        setattr(locked, name, value)
    locked.full_clean()
    locked.save(update_fields=list(fields))
    audit.record("account.updated", locked, before)
    epochs.bump(locked.pk, epochs.EVERYTHING)
    return locked


@transaction.atomic
def suspend_account(account: Account, *, suspended: bool = True) -> Account:
    """Refuses all keys of the account from now on, or no longer; nothing else of it changes."""
    locked = Account.objects.select_for_update().get(pk=account.pk)
    if (locked.suspended_at is not None) != suspended:
        before = locked.audited()
        locked.suspended_at = timezone.now() if suspended else None
        locked.save(update_fields=["suspended_at"])
        audit.record("account.suspended" if suspended else "account.resumed", locked, before)
        epochs.bump(locked.pk, epochs.EVERYTHING)
    return locked
