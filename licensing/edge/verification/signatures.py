"""Web Bot Auth: verifies who signed a visitor's request (RFC 9421, draft-ietf-webbotauth-httpsig-protocol).

The draft has three outcomes: valid, invalid, and unverified if the verifier cannot know. Invalid signatures are
refused; unverified requests are decided as unsigned ones.
"""

from collections.abc import Collection
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

from accounts.limits.windows import DAY, Hit, Window
from kit.http.headers import LIMITS
from kit.outbound.destinations import DestinationRefused
from licensing.access.event_loop.callers import Callers
from licensing.access.event_loop.head import Head
from licensing.edge.original import Original
from licensing.edge.verification.directories import Directories, origin_of

TAG = "web-bot-auth"
AGENT, INPUT, SIGNATURE = b"signature-agent", b"signature-input", b"signature"
MAX_LIFE = timedelta(days=1)
MAX_SIGNATURES = 8  # per request
MAX_TAGGED = 3  # of them for web-bot-auth: each costs a verification
TARGETS = ("@authority", "@target-uri")  # a signature covers one of them, so that it is valid at one host
DIRECTORY = "directory"  # the type of Signature-Agent members that are supported; the default
MAX_NONCES = 100_000

Parameters = dict[str, Any]
Member = tuple[object, Parameters]  # a value with its parameters
Agents = dict[str | None, Member]


class InvalidSignature(Exception):
    """An invalid signature on a visitor's request; the message gives the reason."""

    code = "InvalidSignature"  # the value of crawler-error


class VerifiedSignature(Struct, frozen=True):
    """A verified signature: the host of the key directory and the names of the signed components."""

    host: str
    covered: frozenset[str]


class Claim(Struct, frozen=True):
    """A signature for Web Bot Auth that is not verified yet: its label, covered components and parameters."""

    label: str
    covered: list[tuple[str, Parameters]]  # names with their parameters
    parameters: Parameters

    @property
    def target(self) -> str:
        """The covered component that names the host. Raises InvalidSignature."""
        names = [name for name, _ in self.covered]
        for target in TARGETS:
            if target in names:
                return f'"{target}"'
        raise InvalidSignature("The signature must cover @authority or @target-uri.")

    def covers_only(self, received: Collection[bytes]) -> bool:
        """Whether all covered header fields were received. Proxies pass on only some of a visitor's headers."""
        names = [name for name, _ in self.covered if not name.startswith("@")]
        return all(name.encode() in received for name in names)


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


class Signatures:
    """Verifies visitors' signatures. All methods run on the event loop."""

    def __init__(self, callers: Callers, directories: Directories | None = None) -> None:
        self.callers = callers
        self.directories = directories or Directories()
        self.nonces: TTLCache[str, bool] = TTLCache(MAX_NONCES, MAX_LIFE.total_seconds())

    async def signer(self, head: Head, original: Original) -> VerifiedSignature | None:
        """Return who signed the request. Of several valid signatures the first counts.

        None if the request is unsigned, or if nothing says whether a signature is valid: its keys are not known (yet),
        they are published in another way than in a directory, or it covers headers that were not received. Raises
        InvalidSignature if no signature is valid, and one is invalid.
        """
        if INPUT not in head.headers or SIGNATURE not in head.headers or AGENT not in head.headers:
            return None
        check_size(head)
        first_error: InvalidSignature | None = None
        agents = read_agents(head.header(AGENT))
        for claim in read_claims(head):
            try:
                verified = await self.verify(claim, agents, head, original)
            except InvalidSignature as error:
                first_error = first_error or error
                continue
            if verified is not None:
                return verified
        if first_error is not None:
            raise first_error
        return None

    async def verify(self, claim: Claim, agents: Agents, head: Head, original: Original) -> VerifiedSignature | None:
        """Verify one signature; None if it cannot be verified. Raises InvalidSignature."""
        member, component = read_agent(claim, agents)
        origin = find_directory(member)
        keyid = claim.parameters.get("keyid")
        if origin is None or not isinstance(keyid, str) or not claim.covers_only(head.headers):
            return None
        target = claim.target
        check_life(claim.parameters)
        key = self.directories.find(origin, keyid, original.address)
        if key is None:
            return None
        message = Message(original.method, original.url, decode_headers(head))
        result = verify_signature(message, claim.label, (target, component), key, MAX_LIFE)
        if result.nonce is not None:
            await self.use(keyid, result.nonce, claim.parameters["expires"])
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
            state = await self.callers.limits.submit(Hit(name, (Window(1, DAY),), at=expires))
            if not state.allowed:
                raise InvalidSignature("The signature was used before.")


def decode_headers(head: Head) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers.items()}


def check_size(head: Head) -> None:
    """Raise InvalidSignature for headers that would take long to parse."""
    for name in (AGENT, INPUT, SIGNATURE):
        field_name = name.decode().title()
        if name in head.too_long:
            raise InvalidSignature(f"{field_name} may have up to {LIMITS[name].most:,} bytes.")
        if head.headers[name].count(b",") >= MAX_SIGNATURES:
            raise InvalidSignature(f"{field_name} may name up to {MAX_SIGNATURES} signatures.")


def read_claims(head: Head) -> list[Claim]:
    """Return the signatures for Web Bot Auth, in order. Raises InvalidSignature."""
    try:
        inputs: Any = http_sf.parse(head.headers[INPUT], tltype="dictionary")
    except ValueError:
        raise InvalidSignature("Signature-Input is malformed.") from None
    tagged = [Claim(label, *inner) for label, inner in inputs.items() if inner[1].get("tag") == TAG]
    if len(tagged) > MAX_TAGGED:
        raise InvalidSignature(f"Signature-Input may name up to {MAX_TAGGED} signatures for {TAG}.")
    for claim in tagged:
        if not isinstance(claim.covered, list) or not all(isinstance(name, str) for name, _ in claim.covered):
            raise InvalidSignature("Signature-Input must list the names of components.")
    return tagged


def read_agents(text: str) -> Agents:
    """Return the members of Signature-Agent; the bare string of older senders is the member None.

    Raises InvalidSignature.
    """
    is_string = text.lstrip().startswith('"')
    try:
        parsed: Any = http_sf.parse(text.encode("latin-1"), tltype="item" if is_string else "dictionary")
    except ValueError:
        raise InvalidSignature("Signature-Agent is malformed.") from None
    agents: Agents = {None: parsed} if is_string else parsed
    return agents


def read_agent(claim: Claim, agents: Agents) -> tuple[Member, str]:
    """Return the member of Signature-Agent that the signature covers, and its component.

    A signature may cover other signers' members, too. Its own one then has its label. Otherwise the key of the member
    can differ from the label, which proxies may change. Raises InvalidSignature.
    """
    if None in agents:
        if ("signature-agent", {}) not in claim.covered:
            raise InvalidSignature("The signature must cover signature-agent.")
        return agents[None], '"signature-agent"'
    keys = [
        parameters["key"]
        for name, parameters in claim.covered
        if name == "signature-agent" and parameters.keys() == {"key"} and parameters["key"] in agents
    ]
    if claim.label in keys:
        key = claim.label
    elif len(keys) == 1:
        key = keys[0]
    else:
        raise InvalidSignature("The signature must cover the member of Signature-Agent that names its signer.")
    return agents[key], f'"signature-agent";key="{key}"'


def find_directory(member: Member) -> str | None:
    """Return the origin whose key directory a member of Signature-Agent names.

    None for other types and values, which the draft lets verifiers ignore.
    """
    value, parameters = member
    if not isinstance(value, str) or str(parameters.get("type", DIRECTORY)) != DIRECTORY:
        return None
    try:
        return origin_of(value)
    except DestinationRefused:
        return None


def check_life(parameters: Parameters) -> None:
    """Raise InvalidSignature if the signature has no expiry, is valid for too long, or has expired."""
    created, expires = parameters.get("created"), parameters.get("expires")
    if type(created) is not int or type(expires) is not int:
        raise InvalidSignature("A signature needs created and expires.")
    if expires <= time():
        raise InvalidSignature("The signature has expired.")
    if not 0 < expires - created <= MAX_LIFE.total_seconds():
        raise InvalidSignature("A signature lives for a day at most.")


def verify_signature(
    message: Message, label: str, components: tuple[str, ...], key: Ed25519PublicKey, max_age: timedelta | None
) -> VerifyResult:
    """Verify a signature that covers the components, and return the result. Raises InvalidSignature."""
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=KnownKey(key))
    try:
        [result] = verifier.verify(
            message, max_age=max_age, expect_tag=TAG, expect_label=label, require_components=components
        )
    except HTTPMessageSignaturesException as error:
        raise InvalidSignature(f"The signature is not valid. {error}".strip()[:300]) from None
    return result
