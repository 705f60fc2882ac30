"""Verification of licence tokens without asking the service. Install the package with its extra `signed`."""

import re
from typing import TypedDict, cast
from urllib.parse import unquote, urlsplit

import httpx
import jwt

from content_access_licensing.keys import KeyHolder

REQUIRED = ["iss", "sub", "aud", "exp", "account_id"]
# What one origin reads as another path than the next: `\`, `;`, what is escaped twice, and control characters.
IS_AMBIGUOUS = re.compile(r"[\\;%?#\x00-\x1f\x7f\ufffd]|//|/\.\.?(/|$)").search


class InvalidLicenseToken(ValueError):
    """The token does not allow the access: it is forged, expired, of another account, or for other pages."""


class LicenseClaims(TypedDict):
    """The claims of a licence token: `sub` is the requester, `aud` has the URLs of its pages."""

    iss: str
    sub: str
    aud: list[str]
    iat: int
    nbf: int
    exp: int
    jti: str
    license_id: str
    client_id: str
    account_id: str
    scope: str


class LicenseTokenVerifier(KeyHolder):
    """Verify the licence tokens of one publisher. Reuse it, because it caches keys; it is thread-safe.

    `issuer` is the service's base URL, as in the claim `iss`. `account_id` is the publisher's account (acc_…): all
    accounts of a service share issuer and keys.
    """

    algorithm, refusal = "ES256", InvalidLicenseToken

    def __init__(self, issuer: str, account_id: str, *, http: httpx.Client | None = None) -> None:
        super().__init__(issuer, http=http)
        self.account_id = account_id

    def verify(self, token: str, *, url: str) -> LicenseClaims:
        """Return the claims of a token that covers the page now.

        `url` is the requested URL, unchanged. Licences and clients that have been revoked since are not noticed:
        only the service knows. Raises InvalidLicenseToken, or httpx.HTTPError if the keys cannot be fetched.
        """
        try:
            claims = jwt.decode(
                token,
                self.key_of(token),
                algorithms=[self.algorithm],
                issuer=self.issuer,
                options={"require": REQUIRED, "verify_aud": False, "verify_iat": False},
            )
        except jwt.InvalidTokenError as error:
            raise InvalidLicenseToken(str(error)) from None
        if claims["account_id"] != self.account_id:
            raise InvalidLicenseToken("The token is of another account of this service.")
        audiences = claims["aud"]
        if not isinstance(audiences, list) or not any(covers(audience, url) for audience in audiences):
            raise InvalidLicenseToken("The token is for other pages.")
        return cast("LicenseClaims", claims)


def covers(audience: object, url: str) -> bool:
    """Whether a URL is an audience or below it. Paths that origins may read in several ways are below none."""
    try:
        own, page = urlsplit(str(audience)), urlsplit(url)
    except ValueError:
        return False
    folder, path = unquote(own.path).rstrip("/"), unquote(page.path) or "/"
    if page.scheme not in ("http", "https") or IS_AMBIGUOUS(path) or not page.hostname:
        return False
    is_below = path.rstrip("/") == folder or path.startswith(f"{folder}/")
    return page.hostname.removesuffix(".") == own.hostname and is_below
