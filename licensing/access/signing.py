"""Signed decisions: compact JWS (RFC 7515, EdDSA) that others verify offline (docs/signed-decisions.md).

The active key is kept in memory for some seconds, so that a rotation soon reaches every process, and only the first
check of such a time waits for the database.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

import jwt
from cryptography.fernet import InvalidToken
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.sealing import sealer
from kit.http.errors import ServiceUnavailable
from licensing.access.decisions import Answer
from licensing.access.lifetimes import token_seconds
from licensing.access.models import SigningKey

KEPT_SECONDS = 10  # that a process signs with a key before it looks whether that is still the active one
PURPOSE = "signing-key"


@dataclass(frozen=True)
class Signer:
    """The active key, opened."""

    kid: str
    private: Ed25519PrivateKey = field(repr=False)

    def by(self, issuer: str) -> Callable[[Answer], str]:
        return lambda answer: self.token(answer, issuer)

    def token(self, answer: Answer, issuer: str) -> str:
        """The decision as a JWS. It was recorded, so it has an id."""
        decision = answer.decision
        issued = int(answer.facts.now.timestamp())
        claims = {
            "iss": issuer,
            "sub": answer.requester_id,
            "aud": answer.content_id,
            "jti": answer.id,
            "allowed": decision.allowed,
            "permissions": list(decision.permissions),
            "policyId": answer.policy.id if answer.policy else None,
            "iat": issued,
            "exp": issued + token_seconds(answer.decision, answer.policy, answer.facts),
        }
        return jwt.encode(claims, self.private, algorithm="EdDSA", headers={"kid": self.kid})


class Kept:
    """The signer of this process, and until when (monotonic seconds) it may be used unasked."""

    signer: Signer | None = None
    until = 0.0


def kept_signer() -> Signer | None:
    return Kept.signer if monotonic() < Kept.until else None


def forget_signer() -> None:
    Kept.signer, Kept.until = None, 0.0


def current_signer() -> Signer:
    """The active key, made by whoever needs it first. Raises ServiceUnavailable."""
    signer = kept_signer()
    if signer is None:
        row = SigningKey.objects.filter(active=True).first() or make_first()
        signer = opened(row)
        if not connection.in_atomic_block:  # what has yet to commit may never be there
            Kept.signer, Kept.until = signer, monotonic() + KEPT_SECONDS
    return signer


def opened(row: SigningKey) -> Signer:
    try:
        private = sealer(PURPOSE).decrypt(bytes(row.private))
    except InvalidToken:
        raise ServiceUnavailable(
            "The signing key cannot be read: the server's secret has changed. Run manage.py rotate_signing_key.",
        ) from None
    return Signer(row.pk, Ed25519PrivateKey.from_private_bytes(private))


def make_first() -> SigningKey:
    """The active key: of several processes that make one at the same time, one wins."""
    SigningKey.objects.bulk_create([new_key(timezone.now())], ignore_conflicts=True)
    return SigningKey.objects.get(active=True)


def new_key(now: datetime) -> SigningKey:
    private = Ed25519PrivateKey.generate()
    return SigningKey(
        public=private.public_key().public_bytes_raw(),
        private=sealer(PURPOSE).encrypt(private.private_bytes_raw()),
        created=now,
    )


@transaction.atomic
def rotate(overlap: timedelta) -> SigningKey:
    """The new active key. The one before verifies for `overlap`; what its processes still sign meanwhile, too."""
    now = timezone.now()
    list(SigningKey.objects.filter(active=True).select_for_update())
    SigningKey.objects.filter(active=True).update(active=False, retires_at=now + overlap)
    SigningKey.objects.filter(retires_at__lte=now - timedelta(days=1)).delete()
    key = new_key(now)
    key.save(force_insert=True)
    transaction.on_commit(forget_signer)
    return key


def key_set() -> dict[str, list[dict[str, Any]]]:
    """The public keys that tokens of now verify with, as a JWK Set (RFC 7517, RFC 8037); the newest first."""
    rows = SigningKey.objects.filter(Q(active=True) | Q(retires_at__gt=timezone.now())).order_by("-created", "-pk")
    return {"keys": [public_jwk(row) for row in rows]}


def public_jwk(row: SigningKey) -> dict[str, Any]:
    x = urlsafe_b64encode(bytes(row.public)).decode().rstrip("=")
    return {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": row.pk, "use": "sig", "alg": "EdDSA"}
