"""The service's public keys, for verifiers of its tokens."""

import math
import time
from threading import Lock
from typing import ClassVar

import httpx
import jwt

REFETCH = 10  # least seconds between two fetches of the keys
MAX_AGE = 300  # seconds after which withdrawn keys are forgotten


class KeyHolder:
    """Caches the keys of one algorithm. It is thread-safe.

    `issuer` is the service's base URL, as in the claim `iss`.
    """

    algorithm: ClassVar[str]
    refusal: ClassVar[type[ValueError]]  # raised for a token with an unknown key

    def __init__(self, issuer: str, *, http: httpx.Client | None = None) -> None:
        self.issuer, self.http = issuer.rstrip("/"), http or httpx.Client(timeout=10)
        self.keys: dict[str, jwt.PyJWK] = {}
        self.fetched = self.tried = -math.inf
        self.has_failed = False
        self.lock = Lock()

    def key_of(self, token: str) -> jwt.PyJWK:
        """Return the key that a token names. Raises jwt.InvalidTokenError, `refusal` or httpx.HTTPError."""
        kid = jwt.get_unverified_header(token).get("kid")
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
            raise self.refusal("The service has no such key.")
        return self.keys[kid]

    def load(self) -> dict[str, jwt.PyJWK]:
        reply = self.http.get(f"{self.issuer}/.well-known/jwks.json").raise_for_status()
        return {one["kid"]: jwt.PyJWK(one) for one in reply.json()["keys"] if one["alg"] == self.algorithm}
