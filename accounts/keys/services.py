"""Operations on API keys, for endpoints, commands and the admin."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple, NotRequired, TypedDict, Unpack

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.auditing import audit
from accounts.auditing.models import ActorType, AuditEntry
from accounts.keys import keytext
from accounts.keys.authentication import Grant
from accounts.keys.bounds import (
    Bounds,
    change_bounds,
    check_below_plan,
    check_may_change,
    check_no_more_than,
    check_permissions_of_type,
    key_bounds,
)
from accounts.keys.models import ApiKey
from accounts.keys.permissions import DEFAULTS
from accounts.plans import epochs
from accounts.plans.models import Account
from kit.http.errors import Revoked, ValidationFailed
from kit.values.json_values import Validated

MAX_OVERLAP_SECONDS = 604_800
CHANGEABLE_FIELDS = ["name", "allowed_ips", "allowed_hosts", "rate_limit", "expires_at"]


class NewKey(Bounds):
    """The fields of a new key. The secret `seed` reproduces its text (keytext.generate)."""

    name: str
    type: str
    permissions: NotRequired[list[str] | None]
    seed: NotRequired[str | None]


class Expiry(TypedDict, total=False):
    expires_at: datetime | None


def lock_keys(*key_ids: str) -> dict[str, ApiKey]:
    """Lock the keys in order of their ids until the transaction ends; return them by id."""
    keys = ApiKey.objects.select_related("account").select_for_update(of=("self",))
    return {key.pk: key for key in keys.filter(pk__in=key_ids).order_by("pk")}


def lock_requesting_key(grant: Grant) -> ApiKey:
    """Lock and return the requesting key. Raises InvalidApiKey if it has ended since authentication.

    Without this, a request in progress during the revocation of its key could create a key that outlives it.
    """
    key = lock_keys(grant.key_id)[grant.key_id]
    Grant.from_key(key).check()
    return key


@transaction.atomic
def create_api_key(
    account_id: str, *, granted_by: Grant | None = None, key_id: str | None = None, **fields: Unpack[NewKey]
) -> tuple[ApiKey, str]:
    """Create a key and return it with its text, which is stored nowhere else. `key_id` is an unused id for it.

    If another key creates it (`granted_by`), omitted bounds are inherited, and the new key may not exceed its creator.
    Operators and commands (None) are not restricted. Raises ValidationFailed and InsufficientPermissions.
    """
    creator = lock_requesting_key(granted_by) if granted_by is not None else None
    if fields.get("rate_limit") is not None:
        check_below_plan(fields["rate_limit"], Account.objects.get(pk=account_id).limits)
    key, text = build_key(account_id, creator, **fields)
    store_key(key, key_id)
    return key, text


def store_key(key: ApiKey, key_id: str | None) -> None:
    """Store a new key and its audit entry. `key_id` is an unused id for it."""
    if key_id is not None:
        key.pk = key_id
    key.save(force_insert=True)
    audit.record("api_key.created", key, {})


def find_key(keys: QuerySet[ApiKey], text: str) -> ApiKey | None:
    """Return the key with this full text, in any state, or None.

    Only the keyed digest reaches the database; an index lookup reveals nothing about other keys.
    """
    if not keytext.is_well_formed(text):
        return None
    return keys.filter(digest__in=[keytext.digest(text), *keytext.former_digests(text)]).first()


def build_key(account_id: str, creator: ApiKey | None, **fields: Unpack[NewKey]) -> tuple[ApiKey, str]:
    """Build an unsaved key and its text.

    Raises ValidationFailed, or InsufficientPermissions if it exceeds `creator`.
    """
    key_type = fields["type"]
    requested = fields.get("permissions")
    permissions = list(dict.fromkeys(DEFAULTS[key_type] if requested is None else requested))
    check_permissions_of_type(key_type, permissions)
    no_bounds: Bounds = {"allowed_ips": [], "allowed_hosts": [], "rate_limit": None, "expires_at": None}
    bounds = change_bounds(no_bounds if creator is None else key_bounds(creator), fields)
    if creator is not None:
        check_no_more_than(creator, permissions, bounds)
    text = keytext.generate(key_type, fields.get("seed"))
    key = ApiKey(
        account_id=account_id,
        name=fields["name"],
        type=key_type,
        prefix=text[: keytext.PREFIX_CHARACTERS],
        digest=keytext.digest(text),
        permissions=permissions,
        **bounds,
    )
    return key, text


class IssuedKey(NamedTuple):
    """A key in a stored reply that contains its text, with its state at creation."""

    id: str
    permissions: list[str]
    bounds: Bounds


def check_may_see_keys(grant: Grant, keys: Iterable[IssuedKey]) -> None:
    """Raise an ApiError if the requesting key may not see the texts of these earlier created keys.

    The key that created them always may, even if a rotation has since set its expiry; any other key needs everything
    required to create them itself.
    """
    requesting_key = lock_requesting_key(grant)
    creations = AuditEntry.objects.filter(
        action="api_key.created", actor_type=ActorType.KEY, actor_id=requesting_key.pk
    )
    created_ids = set(creations.filter(resource_id__in=[key.id for key in keys]).values_list("resource_id", flat=True))
    for key in keys:
        if key.id not in created_ids:
            check_no_more_than(requesting_key, key.permissions, key.bounds)


@transaction.atomic
def update_api_key(key: ApiKey, fields: Validated, *, changed_by: Grant | None = None) -> ApiKey:
    """Change a key's name, addresses, hosts, rate limit or expiry, effective with the next request.

    If a key makes the change (`changed_by`), it may not set bounds beyond its own or widen a key that it could not
    create. Operators and commands (None) are not restricted. Raises Revoked, ValidationFailed and
    InsufficientPermissions.
    """
    keys = lock_keys(key.pk, *([changed_by.key_id] if changed_by else []))
    changer = None
    if changed_by is not None:
        changer = keys[changed_by.key_id]
        Grant.from_key(changer).check()
    change = change_key(keys[key.pk], fields, changer)
    if change is not None:
        keys[key.pk].save(update_fields=CHANGEABLE_FIELDS)
        audit.record_all([change])
        epochs.invalidate(key.account_id, {key.pk})
    return keys[key.pk]


def change_key(key: ApiKey, fields: Validated, changer: ApiKey | None) -> audit.Change | None:
    """Change the key in memory by the rules of update_api_key; return the change, or None if nothing changed.

    An error leaves the key unchanged.
    """
    if key.revoked_at is not None:
        raise Revoked("This key is revoked, which is final. Create a new one.")
    audited_before = key.audited()
    old_bounds = key_bounds(key)
    for name in ("type", "permissions"):
        if fields.get(name, getattr(key, name)) != getattr(key, name):
            raise ValidationFailed(f"The {name} of a key cannot be changed. Create another key.", param=name)
    new_bounds = change_bounds(old_bounds, fields)
    end = new_bounds["expires_at"]
    if end is not None and end != old_bounds["expires_at"] and end <= timezone.now():
        raise ValidationFailed("Must be in the future. To end a key now, revoke it.", param="expiresAt")
    if new_bounds["rate_limit"] != old_bounds["rate_limit"]:
        check_below_plan(new_bounds["rate_limit"], key.account.limits)
    if changer is not None:
        check_may_change(changer, key, new_bounds)
    key.name = fields.get("name", key.name)
    for name, value in new_bounds.items():
        setattr(key, name, value)
    return audit.build_change("api_key.updated", key, audited_before)


@transaction.atomic
def revoke_api_key(key: ApiKey) -> ApiKey:
    """Revoke a key at once. A revoked key keeps its original time."""
    locked = ApiKey.objects.select_for_update().get(pk=key.pk)
    if locked.revoked_at is None:
        before = locked.audited()
        locked.revoked_at = timezone.now()
        locked.save(update_fields=["revoked_at"])
        audit.record("api_key.revoked", locked, before)
        epochs.invalidate(locked.account_id, {locked.pk})
    return locked


@transaction.atomic
def rotate_api_key(
    key: ApiKey,
    *,
    overlap_seconds: int = 0,
    granted_by: Grant | None = None,
    key_id: str | None = None,
    seed: str | None = None,
    **expiry: Unpack[Expiry],
) -> tuple[ApiKey, str]:
    """Replace a key by a new one with the same permissions and bounds; return the new key and its text.

    The old key ends after the overlap, or at its own expiry if that is earlier. The new key expires when the old one
    would have, unless another expiry is given.
    """
    # Lock both at once, so that two keys that rotate each other do not deadlock.
    old = lock_keys(key.pk, *([granted_by.key_id] if granted_by else []))[key.pk]
    now = timezone.now()
    if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= now):
        raise ValidationFailed("This key has ended already, so there is nothing to rotate. Create a new one.")
    before = old.audited()
    # Without the check against the plan, which may have become smaller than the old key's rate limit.
    new, text = build_key(
        old.account_id,
        None if granted_by is None else lock_requesting_key(granted_by),
        name=old.name,
        type=old.type,
        permissions=old.permissions,
        seed=seed,
        **change_bounds(key_bounds(old), expiry),
    )
    store_key(new, key_id)
    if overlap_seconds == 0:
        old.revoked_at = now
    else:
        end = now + timedelta(seconds=overlap_seconds)
        old.expires_at = min(end, old.expires_at or end)
    old.save(update_fields=["revoked_at", "expires_at"])
    audit.record("api_key.rotated", old, before)
    epochs.invalidate(old.account_id, {old.pk})
    return new, text
