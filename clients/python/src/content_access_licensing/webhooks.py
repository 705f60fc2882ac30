"""Verification of webhooks (Standard Webhooks, symmetric signatures)."""

import hmac
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import cast

from content_access_licensing.protocol import parsed
from content_access_licensing.types import SentEvent

TOLERANCE = 300  # seconds
LONGEST_MOMENT = 15  # digits; Python refuses to convert and to compare very long ones


class InvalidSignature(ValueError):
    """The request was signed with another secret, modified, or is too old."""


def verify(body: bytes, headers: Mapping[str, str], secret: str) -> SentEvent:
    """Verify a webhook and return its event. `body` is the raw body, `secret` the endpoint's (`whsec_…`).

    Raises InvalidSignature.
    """
    given = {name.lower(): value for name, value in headers.items()}
    id, moment = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not (moment.isdecimal() and len(moment) <= LONGEST_MOMENT) or abs(time.time() - int(moment)) > TOLERANCE:
        raise InvalidSignature("The timestamp is missing or too far from now.")
    key = b64decode(secret.removeprefix("whsec_"))
    wanted = b64encode(hmac.digest(key, f"{id}.{moment}.".encode() + body, sha256))
    signatures = (one.removeprefix("v1,") for one in given.get("webhook-signature", "").split())
    if not any(hmac.compare_digest(one.encode(), wanted) for one in signatures):
        raise InvalidSignature("The signature does not match.")
    return cast("SentEvent", parsed(body, "SentEvent"))
