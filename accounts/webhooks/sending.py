"""One attempt: the request as Standard Webhooks has it, signed, and what came back."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Unpack

from cryptography.fernet import InvalidToken
from django.utils import timezone
from django.utils.http import parse_http_date_safe
from standardwebhooks import Webhook

from accounts.events.models import Event
from accounts.events.serializers import as_sent
from accounts.webhooks import secrets
from accounts.webhooks.queue import Claimed, Outcome, Result
from kit.http.rendering import render_json
from kit.outbound.client import Client, Unreachable
from kit.outbound.destinations import Refused

REPLY_BYTES = 1024  # of a reply's body that are kept
LEAST_SECRET = 8  # characters; what is shorter is no secret, and may be part of any text
USER_AGENT = "Content-Access-Licensing-Webhooks/1.0"


def request_of(event: Event, valid: list[secrets.Secret], now: datetime) -> tuple[dict[str, str], bytes]:
    """Headers and body of a delivery at this moment, signed by every secret that is valid."""
    body = render_json(as_sent(event)).decode()
    signatures = [Webhook(one.text).sign(event.pk, now.astimezone(UTC), body) for one in valid]
    headers = {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "webhook-id": event.pk,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
    return headers, body.encode()


async def attempt(claimed: Claimed, client: Client) -> Result:
    """Sends the event and waits for the reply, 15 seconds at the most."""
    began, clock = timezone.now(), perf_counter()

    def result(**outcome: Unpack[Outcome]) -> Result:
        return Result(claimed, began, int((perf_counter() - clock) * 1000), **outcome)

    try:
        valid = secrets.open_secrets(claimed.endpoint.secrets, began)
        further = secrets.open_headers(claimed.endpoint.headers)
    except InvalidToken:
        return result(error="The endpoint's secret cannot be read: the server's secret has changed. Rotate it.")
    headers, body = request_of(claimed.event, valid, began)
    try:
        reply = await client.send("POST", claimed.endpoint.url, {**further, **headers}, body)
    except (Refused, Unreachable) as error:
        return result(error=str(error))
    return result(
        status=reply.status,
        reply=hidden(reply.body, further)[:REPLY_BYTES].decode(errors="replace").replace("\0", "�"),
        retry_after=retry_after(reply.headers.get("retry-after"), began),
    )


def hidden(body: bytes, headers: Mapping[str, str]) -> bytes:
    """A reply without the headers' values, for some receivers repeat what they were sent."""
    for value in headers.values():
        for part in (value, *value.split()):  # the scheme of an Authorization and what follows may come apart
            if len(part) >= LEAST_SECRET:
                body = body.replace(part.encode("latin-1"), b"[hidden]")
    return body


def retry_after(text: str | None, now: datetime) -> timedelta | None:
    """Return how long a reply asks to wait, in seconds or until an HTTP date; None for anything else and the past."""
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) <= 9:
        return timedelta(seconds=int(text))
    seconds = parse_http_date_safe(text)
    if seconds is None or seconds <= now.timestamp():
        return None
    return timedelta(seconds=seconds - now.timestamp())
