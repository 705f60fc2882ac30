"""One delivery attempt: a signed request as Standard Webhooks defines it, and its reply."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from time import perf_counter

from cryptography.fernet import InvalidToken
from django.utils import timezone
from django.utils.http import parse_http_date_safe
from standardwebhooks import Webhook

from accounts.events.models import Event
from accounts.events.serializers import render_event
from accounts.webhooks import secrets
from accounts.webhooks.queue import ClaimedDelivery, Result
from kit.http.rendering import render_json
from kit.outbound.client import Client, Unreachable
from kit.outbound.destinations import DestinationRefused

REPLY_BYTES = 1024  # stored part of a reply's body
MIN_SECRET = 8  # characters; shorter values are not secret and occur in any text
USER_AGENT = "Content-Access-Licensing-Webhooks/1.0"


def build_request(event: Event, valid_secrets: list[secrets.Secret], now: datetime) -> tuple[dict[str, str], bytes]:
    """Build headers and body of a delivery, signed with every valid secret."""
    body = render_json(render_event(event)).decode()
    signatures = [Webhook(secret.text).sign(event.pk, now.astimezone(UTC), body) for secret in valid_secrets]
    headers = {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "webhook-id": event.pk,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
    return headers, body.encode()


async def attempt(claimed: ClaimedDelivery, client: Client) -> Result:
    """Send the event and wait up to 15 seconds for the reply."""
    began = timezone.now()
    start = perf_counter()

    def elapsed_ms() -> int:
        return int((perf_counter() - start) * 1000)

    def failure(error: str) -> Result:
        return Result(claimed, began, elapsed_ms(), error=error)

    try:
        valid_secrets = secrets.open_secrets(claimed.endpoint.secrets, began)
    except InvalidToken:
        return failure("The endpoint's secret cannot be read: the server's secret has changed. Rotate it.")
    custom_headers = secrets.readable_headers(claimed.endpoint.headers)
    if custom_headers is None:  # do not send without them: the receiver may authenticate by them
        return failure("The endpoint's headers cannot be read: the server's secret has changed. Set them again.")
    headers, body = build_request(claimed.event, valid_secrets, began)
    try:
        reply = await client.send("POST", claimed.endpoint.url, {**custom_headers, **headers}, body)
    except (DestinationRefused, Unreachable) as error:
        return failure(str(error))
    return Result(
        claimed,
        began,
        elapsed_ms(),
        status=reply.status,
        reply=hide_secrets(reply.body, custom_headers)[:REPLY_BYTES].decode(errors="replace").replace("\0", "�"),
        retry_after=parse_retry_after(reply.headers.get("retry-after"), began),
    )


def hide_secrets(body: bytes, headers: Mapping[str, str]) -> bytes:
    """Remove the values of our headers from a reply, because some receivers echo them."""
    for value in headers.values():
        for part in (value, *value.split()):  # an Authorization header's scheme and credentials may be split
            if len(part) >= MIN_SECRET:
                body = body.replace(part.encode("latin-1"), b"[hidden]")
    return body


def parse_retry_after(text: str | None, now: datetime) -> timedelta | None:
    """Return the delay that a reply asks for (seconds or an HTTP date); None if it is invalid or past."""
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) <= 9:
        return timedelta(seconds=int(text))
    seconds = parse_http_date_safe(text)
    if seconds is None or seconds <= now.timestamp():
        return None
    return timedelta(seconds=seconds - now.timestamp())
