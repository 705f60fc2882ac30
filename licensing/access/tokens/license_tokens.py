"""Licence tokens: JWTs (ES256) bound to a licence, a requester and the pages they cover.

The token itself is verified here. licensing.access.decisions checks whether its licence and client are still valid, on
facts that the decision's record confirms.
"""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlsplit

import jwt
import msgspec
from cachetools import LRUCache
from msgspec import Struct
from msgspec.structs import replace

from accounts.keys import keytext
from kit.http.errors import ValidationFailed
from kit.values import ids
from kit.values.paths import read, usual_path
from kit.values.urls import host_of_url, normalised_path
from licensing.access.check_values import Check, PresentedToken
from licensing.access.tokens.challenges import invalid_token_error, out_of_scope
from licensing.access.tokens.models import Algorithm, SigningKey
from licensing.access.tokens.signing import jwk_of, verifying_keys

MAX_TOKEN = 4096  # characters
MAX_VERIFIED = 10_000


class Claims(Struct, frozen=True):
    """The claims of a licence token."""

    iss: str
    sub: str  # the publisher's id of the requester
    aud: tuple[str, ...]  # URLs; covers them and everything below them
    iat: int
    nbf: int
    exp: int
    jti: str
    license_id: str
    client_id: str
    account_id: str
    scope: str = ""

    def is_for(self, url: str) -> bool:
        """Return whether the token covers the page's host and path, in every way an origin may read the path."""
        parts = urlsplit(url)
        own = [aud for aud in map(urlsplit, self.aud) if host_of_url(aud) == host_of_url(parts)]
        if any(normalised_path(aud.path) == normalised_path(parts.path) for aud in own):
            return True
        paths, is_complete = read(parts.path)
        return is_complete and all(any(is_at_or_below(path, usual_path(aud.path)) for aud in own) for path in paths)


def is_at_or_below(path: str, own: str) -> bool:
    return path == own or path.startswith(f"{own.rstrip('/')}/")


# --- Verifying -------------------------------------------------------------------------------------------------------


def kid_of(token: str) -> str:
    """Return the key id in the token's header. Raises InvalidToken if this service cannot have issued the token."""
    if len(token) > MAX_TOKEN:
        raise invalid_token_error("The licence token is malformed.")
    try:
        head = jwt.get_unverified_header(token)
    except jwt.InvalidTokenError:
        raise invalid_token_error("The licence token is malformed.") from None
    if head.get("alg") != Algorithm.ES256.value:
        raise invalid_token_error("The algorithm of the licence token is not supported.", "invalid_request")
    kid = head.get("kid")
    if not isinstance(kid, str) or ids.decode("sig", kid) is None:
        raise invalid_token_error("The signature of the licence token is not valid.")
    return kid


def find_key(kid: str) -> jwt.PyJWK | None:
    """Return the public key with this id if it still verifies licence tokens."""
    row: SigningKey | None = verifying_keys(Algorithm.ES256).filter(pk=kid).first()
    return None if row is None else jwt.PyJWK(jwk_of(row.algorithm, bytes(row.public)), row.algorithm)


verified: LRUCache[tuple[str, bytes], Claims] = LRUCache(MAX_VERIFIED)  # by key id and token digest


def claims_of(token: str, kid: str, key: jwt.PyJWK | None) -> Claims:
    """Verify the token's signature and return its claims. Does not check expiry. Raises InvalidToken."""
    if key is None:
        raise invalid_token_error("The signature of the licence token is not valid.")
    name = kid, keytext.digest(token)
    claims = verified.get(name)
    if claims is None:
        try:
            said = jwt.decode(
                token,
                key,
                algorithms=[Algorithm.ES256.value],
                options={
                    "verify_signature": True,
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                    "verify_aud": False,
                    "verify_iss": False,
                    "verify_sub": False,
                    "verify_jti": False,
                },
            )
            claims = msgspec.convert(said, Claims)
        except (jwt.InvalidTokenError, msgspec.ValidationError):
            raise invalid_token_error("The signature of the licence token is not valid.") from None
        verified[name] = claims
    return claims


def check_claims(claims: Claims, account_id: str, now: datetime) -> Claims:
    """Return the claims. Raises InvalidToken if the token has expired or belongs to another account."""
    if claims.exp <= now.timestamp():
        raise invalid_token_error("The licence token has expired.")
    if claims.account_id != account_id:
        raise invalid_token_error("The licence token is not one of this publisher's.")
    return claims


def verify_now(token: str, account_id: str, now: datetime) -> Claims:
    """Verify a token with the keys in the database; return its claims. Raises InvalidToken."""
    kid = kid_of(token)
    return check_claims(claims_of(token, kid, find_key(kid)), account_id, now)


# --- In checks -------------------------------------------------------------------------------------------------------


def check_scope(claims: Claims, url: str) -> None:
    """Raises InsufficientScope if the token does not cover the URL."""
    if not claims.is_for(url):
        raise out_of_scope()


def attach_license(checks: Sequence[Check], claims: Claims) -> list[Check]:
    """Attach the licence token's licence to the checks. Raises ApiError if a check does not match the token."""
    return [presented_one(check, claims) for check in checks]


def presented_one(check: Check, claims: Claims) -> Check:
    name, value = check.selector
    if name != "source":
        raise ValidationFailed("A licence token is for addresses: name the item by its source.", param=name)
    if check.requester_id != claims.sub:
        raise ValidationFailed("The requester is another than that of the licence token.", param="requester")
    check_scope(claims, value)
    return replace(check, token=PresentedToken(claims.license_id, claims.client_id))
