"""Verification of signed decisions. Install the package with its extra `signed`."""

import math
import time
from threading import Lock
from typing import TypedDict, cast

import httpx
import jwt

REFETCH = 10  # least seconds between two fetches of the keys
MAX_AGE = 300  # seconds after which withdrawn keys are forgotten


class InvalidDecision(ValueError):
    """The token does not allow the access: it is forged, expired, a denial, or about something else."""


class SignedDecision(TypedDict):
    """The claims of a token; `permission` is the requested one, None if the check named none."""

    iss: str
    sub: str
    aud: str
    jti: str
    allowed: bool
    permission: str | None
    permissions: list[str]
    policyId: str | None
    iat: int
    exp: int


class DecisionVerifier:
    """Verify the signed decisions of one service. Reuse it, because it caches keys; it is thread-safe.

    `issuer` is the service's base URL, as in the claim `iss`.
    """

    def __init__(self, issuer: str, *, http: httpx.Client | None = None) -> None:
        self.issuer, self.http = issuer.rstrip("/"), http or httpx.Client(timeout=10)
        self.keys: dict[str, jwt.PyJWK] = {}
        self.fetched = self.tried = -math.inf
        self.has_failed = False
        self.lock = Lock()

    def verify(self, token: str, *, item: str, permission: str | None, requester: str | None) -> SignedDecision:
        """Return the claims of a token that allows this access now.

        `permission` must be the one in the check, None if it named none. With `requester=None`, the decision may be
        about anyone. Raises InvalidDecision, or httpx.HTTPError if the keys cannot be fetched.
        """
        try:
            key = self.key(jwt.get_unverified_header(token).get("kid"))
            claims = jwt.decode(
                token,
                key,
                algorithms=["EdDSA"],
                audience=item,
                issuer=self.issuer,
                subject=requester,
                options={"require": ["iss", "sub", "aud", "exp"], "verify_iat": False},
            )
        except jwt.InvalidTokenError as error:
            raise InvalidDecision(str(error)) from None
        if claims.get("allowed") is not True:
            raise InvalidDecision("The decision is a denial.")
        if "permission" not in claims or claims["permission"] != permission:
            raise InvalidDecision("The decision is about another permission.")
        return cast("SignedDecision", claims)

    def key(self, kid: object) -> jwt.PyJWK:
        found = self.known(kid)  # without the lock: an unknown `kid` keeps no other token waiting
        if found is None:
            with self.lock:
                found = self.known(kid) or self.fetched_key(kid)
        return found

    def known(self, kid: object) -> jwt.PyJWK | None:
        return self.keys.get(kid) if isinstance(kid, str) and not self.is_old else None

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self.fetched > MAX_AGE

    def fetched_key(self, kid: object) -> jwt.PyJWK:
        if time.monotonic() - self.tried > REFETCH:
            self.tried, self.has_failed = time.monotonic(), True
            self.keys = self.load()  # if it fails, keys that are not old stay
            self.fetched, self.has_failed = self.tried, False
        elif self.has_failed:
            raise httpx.TransportError("The keys could not be fetched a moment ago.")
        if not isinstance(kid, str) or kid not in self.keys:
            raise InvalidDecision("The service has no such key.")
        return self.keys[kid]

    def load(self) -> dict[str, jwt.PyJWK]:
        reply = self.http.get(f"{self.issuer}/.well-known/jwks.json").raise_for_status()
        return {one["kid"]: jwt.PyJWK(one) for one in reply.json()["keys"] if one["alg"] == "EdDSA"}
