"""Web Bot Auth: verifies who signed a visitor's request (RFC 9421, draft-ietf-webbotauth-httpsig-protocol)."""

from datetime import timedelta
from time import time
from typing import Any

import http_sf
from cachetools import TTLCache
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import (
    HTTPMessageSignaturesException,
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
    VerifyResult,
    algorithms,
)
from msgspec import Struct

from accounts.limits.windows import DAY, Consume, Window
from kit.http.headers import LIMITS
from kit.outbound.destinations import DestinationRefused
from licensing.access.event_loop.application import Head
from licensing.access.event_loop.callers import Callers
from licensing.edge.original import Original
from licensing.edge.verification.directories import Directories, origin_of

TAG = "web-bot-auth"
AGENT, INPUT, SIGNATURE = b"signature-agent", b"signature-input", b"signature"
MAX_LIFE = timedelta(days=1)
MAX_SIGNATURES = 8  # per request
MAX_NONCES = 100_000


class InvalidSignature(Exception):
    """An invalid signature on a visitor's request; the message gives the reason."""

    code = "InvalidSignature"  # the value of crawler-error


class VerifiedSignature(Struct, frozen=True):
    """A verified signature: the host of the key directory and the names of the signed components."""

    host: str
    covered: frozenset[str]


class Message(Struct, frozen=True):
    """The visitor's request in the form that the signature library expects."""

    method: str
    url: str
    headers: dict[str, str]


class KnownKey(HTTPSignatureKeyResolver):
    def __init__(self, key: Ed25519PublicKey) -> None:
        self.key = key

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
        return self.key

    def resolve_private_key(self, key_id: str) -> Any:
        raise NotImplementedError("Requests are verified here, not signed.")


class Signatures:
    """Verifies visitors' signatures. All methods run on the event loop."""

    def __init__(self, callers: Callers, directories: Directories | None = None) -> None:
        self.callers = callers
        self.directories = directories or Directories()
        self.nonces: TTLCache[str, bool] = TTLCache(MAX_NONCES, MAX_LIFE.total_seconds())

    async def signer(self, head: Head, original: Original) -> VerifiedSignature | None:
        """Return who signed the request; None if it is unsigned or the keys are not known (yet).

        Raises InvalidSignature.
        """
        if INPUT not in head.headers or SIGNATURE not in head.headers or AGENT not in head.headers:
            return None
        check_size(head)
        found = input_of(head)
        if found is None:
            return None
        label, parameters = found
        origin, component = agent_of(head.header(AGENT), label)
        keyid = parameters.get("keyid")
        check_life(parameters)
        key = self.directories.find(origin, keyid, original.address) if isinstance(keyid, str) else None
        if key is None:
            return None
        result = verify_signature(Message(original.method, original.url, headers_of(head)), label, component, key)
        if result.nonce is not None:
            await self.use(str(keyid), result.nonce, parameters["expires"])
        names = (name.partition(";")[0].strip('"') for name in result.covered_components)
        return VerifiedSignature(origin.removeprefix("https://"), frozenset(names))

    async def use(self, keyid: str, nonce: str, expires: int) -> None:
        """Use up a nonce; across processes only if they share Redis. Raises InvalidSignature if it was used before.

        A signature counts on the day on which it expires, so that midnight does not make it valid again.
        """
        name = f"nonce:{expires}:{keyid}:{nonce}"
        if name in self.nonces:
            raise InvalidSignature("The signature was used before.")
        self.nonces[name] = True
        if self.callers.limits is not None:
            state = await self.callers.limits.submit(Consume(name, (Window(1, DAY),), at=expires))
            if not state.allowed:
                raise InvalidSignature("The signature was used before.")


def headers_of(head: Head) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers.items()}


def check_size(head: Head) -> None:
    """Raise InvalidSignature for headers that would take long to parse."""
    for name in (AGENT, INPUT, SIGNATURE):
        shown = name.decode().title()
        if name in head.too_long:
            raise InvalidSignature(f"{shown} may have up to {LIMITS[name].most:,} bytes.")
        if head.headers[name].count(b",") >= MAX_SIGNATURES:
            raise InvalidSignature(f"{shown} may name up to {MAX_SIGNATURES} signatures.")


def input_of(head: Head) -> tuple[str, dict[str, Any]] | None:
    """Return label and parameters of the Web Bot Auth signature, or None. Raises InvalidSignature."""
    try:
        inputs: Any = http_sf.parse(head.headers[INPUT], tltype="dictionary")
    except ValueError:
        raise InvalidSignature("Signature-Input is malformed.") from None
    found = [(label, params) for label, (_, params) in inputs.items() if params.get("tag") == TAG]
    if len(found) > 1:
        raise InvalidSignature("There is more than one signature for web-bot-auth.")
    return found[0] if found else None


def agent_of(text: str, label: str) -> tuple[str, str]:
    """Return the origin of the key directory and the component that the signature must cover.

    Signature-Agent is a dictionary with a member for the label; older senders use a bare string. Raises
    InvalidSignature.
    """
    try:
        is_string = text.lstrip().startswith('"')
        parsed: Any = http_sf.parse(text.encode("latin-1"), tltype="item" if is_string else "dictionary")
        if is_string:
            return origin_of(parsed[0]), '"signature-agent"'
        return origin_of(parsed[label][0]), f'"signature-agent";key="{label}"'
    except (ValueError, KeyError, TypeError, AttributeError, DestinationRefused):
        raise InvalidSignature("Signature-Agent must name an https origin.") from None


def check_life(parameters: dict[str, Any]) -> None:
    """Raise InvalidSignature if the signature has no expiry, is valid for too long, or has expired."""
    created, expires = parameters.get("created"), parameters.get("expires")
    if type(created) is not int or type(expires) is not int:
        raise InvalidSignature("A signature needs created and expires.")
    if expires <= time():
        raise InvalidSignature("The signature has expired.")
    if not 0 < expires - created <= MAX_LIFE.total_seconds():
        raise InvalidSignature("A signature lives for a day at most.")


def verify_signature(
    message: Message, label: str, component: str, key: Ed25519PublicKey, max_age: timedelta | None = MAX_LIFE
) -> VerifyResult:
    """Verify a signature and return the result. Raises InvalidSignature."""
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=KnownKey(key))
    try:
        [result] = verifier.verify(
            message,
            max_age=max_age,
            expect_tag=TAG,
            expect_label=label,
            require_components=('"@authority"', component),
        )
    except HTTPMessageSignaturesException as error:
        raise InvalidSignature(f"The signature is not valid. {error}".strip()[:300]) from None
    return result
