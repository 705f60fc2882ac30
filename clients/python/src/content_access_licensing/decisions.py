"""Verification of signed decisions. Install the package with its extra `signed`."""

from typing import TypedDict, cast

import jwt

from content_access_licensing.keys import KeyHolder


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


class DecisionVerifier(KeyHolder):
    """Verify the signed decisions of one service. Reuse it, because it caches keys; it is thread-safe.

    `issuer` is the service's base URL, as in the claim `iss`.
    """

    algorithm, refusal = "EdDSA", InvalidDecision

    def verify(self, token: str, *, item: str, permission: str | None, requester: str | None) -> SignedDecision:
        """Return the claims of a token that allows this access now.

        `permission` must be the one in the check, None if it named none. With `requester=None`, the decision may be
        about anyone. Raises InvalidDecision, or httpx.HTTPError if the keys cannot be fetched.
        """
        try:
            claims = jwt.decode(
                token,
                self.key_of(token),
                algorithms=[self.algorithm],
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
