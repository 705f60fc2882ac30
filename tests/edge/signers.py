"""Visitors who sign their requests, and the directory that publishes their key."""

import time
from types import SimpleNamespace

import orjson
import pytest
from asgiref.sync import async_to_sync
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from http_message_signatures import HTTPMessageSigner, HTTPSignatureKeyResolver, algorithms

from kit.outbound.client import Reply
from licensing.access.tokens.signing import encode_base64url
from licensing.edge.verification.directories import Directories, thumbprint

AGENT = "https://signer.example"
DIRECTORY = "application/http-message-signatures-directory+json"

private = Ed25519PrivateKey.generate()
RAW = private.public_key().public_bytes_raw()
KEYID = thumbprint(RAW)


class OwnKey(HTTPSignatureKeyResolver):
    def __init__(self, private):
        self.private = private

    def resolve_private_key(self, key_id):
        return self.private

    def resolve_public_key(self, key_id):
        raise NotImplementedError


def published(*raws, **further):
    keys = [{"kty": "OKP", "crv": "Ed25519", "x": encode_base64url(raw), **further} for raw in raws]
    return Reply(200, {"content-type": DIRECTORY}, orjson.dumps({"keys": keys}))


def signed(
    *, agent=f'sig1="{AGENT}"', component='"signature-agent";key="sig1"', covered=(), key=private, life=300, age=0,
    tag="web-bot-auth", nonce=None, label="sig1", target='"@authority"', url="https://pub.example/premium/a",
    method="GET", **headers,
):  # fmt: skip
    """Return the headers of a signed request."""
    message = SimpleNamespace(method=method, url=url, headers={"Signature-Agent": agent} | headers)
    created = time.time() - age
    moments = [SimpleNamespace(timestamp=lambda at=at: at) for at in (created, created + life)]
    HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=OwnKey(key)).sign(
        message,
        key_id=thumbprint(key.public_key().public_bytes_raw()) if label != "sig1" else KEYID,
        created=moments[0],
        expires=moments[1] if life else None,
        label=label,
        tag=tag,
        nonce=nonce,
        include_alg=False,
        covered_component_ids=tuple(filter(None, (target, component, *covered))),
    )
    return {name.replace("-", "_"): value for name, value in message.headers.items()}


def answering(reply):
    async def answer(url):
        return reply

    return answer


def read(directories, origin=AGENT):
    async def reading():
        directories.refresh(origin)
        await directories.fetching[origin]

    async_to_sync(reading)()


@pytest.fixture
def directories():
    """Directories that already know AGENT and its key."""
    asked = []

    async def answer(url):
        asked.append(url)
        return published(RAW)

    made = Directories(answer)
    read(made)
    made.asked = asked
    return made
