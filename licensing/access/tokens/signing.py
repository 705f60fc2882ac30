"""Sign compact JWS (RFC 7515) that others verify offline (docs/guides/signed-decisions.md).

Each algorithm has one active key. Processes cache it for a few seconds, so a rotation reaches all of them soon and
signing rarely waits for the database.
"""

import logging
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic

import jwt
from cryptography.fernet import InvalidToken
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    derive_private_key,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.sealing import sealer
from kit.http.errors import ApiError, ServiceUnavailable
from kit.storage.reading import stored_now
from licensing.access.check_values import Check
from licensing.access.deciding import Answer
from licensing.access.rendering import token_seconds
from licensing.access.tokens.models import Algorithm, SigningKey

Private = Ed25519PrivateKey | EllipticCurvePrivateKey
EDDSA = "EdDSA"
COORDINATE = 32  # bytes of a coordinate, and of a secret, of P-256
UNCOMPRESSED = 1  # length of the prefix before a point's coordinates (SEC 1, 2.3.3)


def generate_key(algorithm: str) -> tuple[bytes, bytes]:
    """Generate a key pair; return its public and private bytes."""
    if algorithm == EDDSA:
        own = Ed25519PrivateKey.generate()
        return own.public_key().public_bytes_raw(), own.private_bytes_raw()
    key = generate_private_key(SECP256R1())
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)[UNCOMPRESSED:]
    return point, key.private_numbers().private_value.to_bytes(COORDINATE)


def load_private_key(algorithm: str, private: bytes) -> Private:
    if algorithm == EDDSA:
        return Ed25519PrivateKey.from_private_bytes(private)
    return derive_private_key(int.from_bytes(private), SECP256R1())


def jwk_of(algorithm: str, public: bytes) -> dict[str, str]:
    """Return the public key as a JSON Web Key (RFC 7518, RFC 8037)."""
    if algorithm == EDDSA:
        return {"kty": "OKP", "crv": "Ed25519", "x": encode_base64url(public)}
    return {
        "kty": "EC",
        "crv": "P-256",
        "x": encode_base64url(public[:COORDINATE]),
        "y": encode_base64url(public[COORDINATE:]),
    }


def encode_base64url(part: bytes) -> str:
    return urlsafe_b64encode(part).decode().rstrip("=")


logger = logging.getLogger(__name__)

KEPT_SECONDS = 10  # how long a process caches the active key
PURPOSE = "signing-key"


@dataclass(frozen=True)
class Signer:
    """An active key, decrypted."""

    kid: str
    algorithm: str
    private: Private = field(repr=False)

    def at(self, base_url: str) -> Callable[[Answer], str]:
        """Return a function that signs decisions as issuer BASE_URL, or the request's base URL if that is not set."""
        issuer = settings.BASE_URL or base_url
        return lambda answer: self.token(answer, issuer)

    def token(self, answer: Answer, issuer: str) -> str:
        """Sign a recorded decision as a JWS."""
        decision = answer.decision
        issued = int(answer.facts.now.timestamp())
        seconds = token_seconds(decision, answer.policy, answer.facts, spends=bool(answer.credits))
        return self.sign(
            {
                "iss": issuer,
                "sub": answer.requester_id,
                "aud": answer.content_id,
                "jti": answer.id,
                "allowed": decision.allowed,
                "permission": answer.facts.permission,
                "permissions": list(decision.permissions),
                "policyId": answer.policy.id if answer.policy else None,
                "iat": issued,
                "exp": issued + seconds,
            }
        )

    def sign(self, claims: dict[str, object]) -> str:
        return jwt.encode(claims, self.private, algorithm=self.algorithm, headers={"kid": self.kid})


# Cached signers of this process by algorithm, each with its expiry in monotonic seconds.
kept: dict[str, tuple[Signer, float]] = {}


def kept_signer(algorithm: str = Algorithm.EDDSA) -> Signer | None:
    signer, until = kept.get(algorithm, (None, 0.0))
    return signer if monotonic() < until else None


def forget_signer() -> None:
    kept.clear()


def current_signer(algorithm: str = Algorithm.EDDSA) -> Signer:
    """Return the active key, creating the first one if needed. Raises ServiceUnavailable if it cannot be decrypted."""
    signer = kept_signer(algorithm)
    if signer is None:
        row = SigningKey.objects.filter(algorithm=algorithm, active=True).first() or make_first(algorithm)
        signer = signer_of(row)
        if not connection.in_atomic_block:  # an uncommitted key may be rolled back
            kept[algorithm] = signer, monotonic() + KEPT_SECONDS
    return signer


def signer_of(row: SigningKey) -> Signer:
    try:
        private = sealer(PURPOSE).decrypt(bytes(row.private))
    except InvalidToken:
        message = (
            "The signing key cannot be read: the server's secret has changed. "
            f"Run manage.py rotate_signing_key --algorithm {row.algorithm} --overlap-seconds 0."
        )
        logger.error(message)  # noqa: TRY400 - a traceback would add nothing
        raise ServiceUnavailable(message) from None
    return Signer(row.pk, row.algorithm, load_private_key(row.algorithm, private))


def make_first(algorithm: str = Algorithm.EDDSA) -> SigningKey:
    """Create the first key and return the active one. If several processes race, one wins."""
    SigningKey.objects.bulk_create([new_key(algorithm, timezone.now())], ignore_conflicts=True)
    return SigningKey.objects.get(algorithm=algorithm, active=True)


def new_key(algorithm: str, now: datetime) -> SigningKey:
    public, private = generate_key(algorithm)
    return SigningKey(algorithm=algorithm, public=public, private=sealer(PURPOSE).encrypt(private), created=now)


@transaction.atomic
def rotate_key(overlap: timedelta, algorithm: str = Algorithm.EDDSA) -> SigningKey:
    """Create and return a new active key. The previous one verifies for `overlap`, as do tokens that other processes
    still sign with it.
    """
    now = stored_now()
    active = SigningKey.objects.filter(algorithm=algorithm, active=True)
    list(active.select_for_update())
    active.update(active=False, retires_at=now + overlap)
    SigningKey.objects.filter(retires_at__lte=now - timedelta(days=1)).delete()
    key = new_key(algorithm, now)
    key.save(force_insert=True)
    transaction.on_commit(forget_signer)
    return key


def verifying_keys(*algorithms: str) -> QuerySet[SigningKey]:
    """Return the keys that verify current tokens, newest first."""
    rows = SigningKey.objects.filter(Q(active=True) | Q(retires_at__gt=timezone.now()), algorithm__in=algorithms)
    return rows.order_by("-created", "-pk")


def key_set(*algorithms: str) -> dict[str, list[dict[str, object]]]:
    """Return the public keys as a JWK Set (RFC 7517)."""
    return {"keys": [public_jwk(row) for row in verifying_keys(*(algorithms or Algorithm.values))]}


def public_jwk(row: SigningKey) -> dict[str, object]:
    return {**jwk_of(row.algorithm, bytes(row.public)), "kid": row.pk, "use": "sig", "alg": row.algorithm}


# --- Checks that cannot be signed ------------------------------------------------------------------------------------


def decidable(checks: Sequence[Check], error: ApiError) -> Sequence[Check]:
    """Return the checks to decide; `error` says why none can be signed. Raises it if all of them are to be signed."""
    others = [check for check in checks if not check.sign]
    if not others:
        raise error
    return others


def with_unsigned(
    answers: Sequence[Answer | ApiError], checks: Sequence[Check], error: ApiError
) -> Sequence[Answer | ApiError]:
    """Return the answers to all checks: `error` for those that were not decided."""
    decided = iter(answers)
    return [error if check.sign else next(decided) for check in checks]
