"""Verification of signed decisions. Install `content-access-licensing[signed]`."""

import math
import time
from threading import Lock
from typing import TypedDict, cast

import httpx
import jwt

REFETCH = 10  # seconds at least between two fetches of the keys
MAX_AGE = 300  # seconds: then a key that the service has withdrawn is forgotten


class InvalidDecision(ValueError):
    """The token does not allow the access: it is forged, expired, a denial, or about something else."""


class SignedDecision(TypedDict):
    """The claims of a token; `permission` is the one that was asked for, None if the check named none."""

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
    """Verify the signed decisions of one service. Keep it: it caches the service's keys. Threads can share it.

    `issuer` is the service's base URL, as in the claim `iss`.
    """

    def __init__(self, issuer: str, *, http: httpx.Client | None = None) -> None:
        self.issuer, self.http = issuer, http or httpx.Client(timeout=10)
        self.keys: dict[str, jwt.PyJWK] = {}
        self.fetched, self.lock = -math.inf, Lock()

    def verify(self, token: str, *, item: str, permission: str | None, requester: str | None) -> SignedDecision:
        """Return the claims of a token that allows this requester this permission for this item now.

        `permission` must be the one that the check asked for, None if it named none. With None for `requester`, the
        decision may be about anybody. Raises InvalidDecision, and httpx.HTTPError if the keys cannot be fetched.
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
        with self.lock:
            age = time.monotonic() - self.fetched
            if age > MAX_AGE or (age > REFETCH and kid not in self.keys):
                self.keys, self.fetched = {}, time.monotonic()
                reply = self.http.get(f"{self.issuer.rstrip('/')}/.well-known/jwks.json").raise_for_status()
                self.keys = {one["kid"]: jwt.PyJWK(one) for one in reply.json()["keys"] if one["alg"] == "EdDSA"}
            if not isinstance(kid, str) or kid not in self.keys:
                raise InvalidDecision("The service has no such key.")
            return self.keys[kid]
