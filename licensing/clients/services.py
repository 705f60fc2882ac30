"""Operations on licence clients, used by endpoints, the admin and the licence server."""

from datetime import datetime, timedelta
from hmac import compare_digest
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.auditing import audit
from accounts.keys import keytext
from accounts.keys.callers import USE_PRECISION
from accounts.plans import epochs
from kit.http.errors import Revoked
from kit.values import ids
from licensing.clients.models import LicenseClient
from licensing.requesters.services import find_or_create, renew


@transaction.atomic
def create_client(account_id: str, fields: dict[str, Any]) -> tuple[LicenseClient, str]:
    """Create a client for `requester_id` and return it with its secret, which is not stored.

    Creates the requester if needed. An `id`, if given, must be unused.
    """
    epochs.lock_epoch(account_id)
    fields = dict(fields)
    requester = find_or_create(account_id, fields.pop("requester_id"), fields.pop("requester_name", None))
    client = LicenseClient(account_id=account_id, requester=requester, **fields)
    secret = set_secret(client)
    client.save(force_insert=True)
    audit.record("license_client.created", client, {})
    epochs.invalidate(account_id, {requester.epoch_name})
    return client, secret


def set_secret(client: LicenseClient, seed: str | None = None) -> str:
    secret = keytext.generate("client", seed)
    client.prefix = secret[: keytext.PREFIX_CHARACTERS]
    client.digest = keytext.digest(secret)
    return secret


def lock_client(client: LicenseClient) -> LicenseClient:
    epochs.lock_epoch(client.account_id)
    clients = LicenseClient.objects.filter(account_id=client.account_id).select_related("requester")
    return clients.select_for_update(of=("self",)).get(pk=client.pk)


@transaction.atomic
def rotate_secret(
    client: LicenseClient, overlap_seconds: int = 0, seed: str | None = None
) -> tuple[LicenseClient, str]:
    """Replace the client's secret; the old one stays valid for the overlap. Raises Revoked.

    The secret `seed` reproduces the new one (keytext.generate). If the client has that already, nothing changes.
    """
    locked = lock_client(client)
    if locked.revoked_at is not None:
        raise Revoked("This client is revoked, which is final. Create another one.")
    if seed is not None:
        secret = keytext.generate("client", seed)
        if keytext.digest(secret) == bytes(locked.digest):
            return locked, secret
    before = locked.audited()
    now = timezone.now()
    locked.former_digest = bytes(locked.digest) if overlap_seconds else None
    locked.former_until = now + timedelta(seconds=overlap_seconds) if overlap_seconds else None
    secret = set_secret(locked, seed)
    locked.save()
    audit.record("license_client.rotated", locked, before)
    return locked, secret


@transaction.atomic
def revoke_client(client: LicenseClient) -> LicenseClient:
    """Revoke the client and its tokens immediately. A client that is already revoked stays unchanged."""
    locked = lock_client(client)
    if locked.revoked_at is None:
        before = locked.audited()
        locked.revoked_at = timezone.now()
        locked.save(update_fields=["revoked_at"])
        renew(locked.requester)
        audit.record("license_client.revoked", locked, before)
        epochs.invalidate(locked.account_id, {locked.requester.epoch_name})
    return locked


def authenticate(client_id: str, secret: str, now: datetime) -> LicenseClient | None:
    """Return the client with these credentials, otherwise None. Malformed credentials cost no query."""
    if ids.decode("cli", client_id) is None or not keytext.is_well_formed(secret, (keytext.CLIENT_PREFIX,)):
        return None
    client = LicenseClient.objects.select_related("account", "requester").filter(pk=client_id).first()
    if client is None or client.account.suspended_at is not None:
        return None
    digest = keytext.digest(secret)
    client_digests = client.digests(now)
    if any(compare_digest(digest, client_digest) for client_digest in client_digests):
        return client
    for former_digest in keytext.former_digests(secret):
        if any(compare_digest(former_digest, client_digest) for client_digest in client_digests):
            replace_former_digest(client, former_digest, digest)
            return client
    return None


def replace_former_digest(client: LicenseClient, former_digest: bytes, digest: bytes) -> None:
    """Replace the digest that a former pepper made by the pepper's."""
    for field in ("digest", "former_digest"):
        LicenseClient.objects.filter(pk=client.pk, **{field: former_digest}).update(**{field: digest})


def note_use(client: LicenseClient, now: datetime) -> None:
    """Update `lastUsedAt`, at most once a minute."""
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - USE_PRECISION)
    LicenseClient.objects.filter(stale, pk=client.pk).update(last_used_at=now)
