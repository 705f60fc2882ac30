"""Deliver due events step by step, as the worker does."""

import asyncio
import json
from typing import Any

from django.conf import settings

from accounts.models import Account
from accounts.webhooks import queue
from accounts.webhooks.models import WebhookDelivery, WebhookEndpoint
from accounts.webhooks.queue import ClaimedDelivery, Result
from accounts.webhooks.sending import attempt
from kit.outbound.client import Client
from tests import factories
from tests.outbound.receivers import Receiver


def endpoint_at(there: Receiver, account: Account, **fields: Any) -> tuple[WebhookEndpoint, str]:
    return factories.endpoint(account, url=f"http://127.0.0.1:{there.port}/in?a=b", **fields)


def waiting() -> WebhookDelivery:
    """Return the only pending delivery."""
    return WebhookDelivery.objects.get()


def claim(most: int = 100) -> list[ClaimedDelivery]:
    return queue.claim({}, most, most)


def attempts(claimed: list[ClaimedDelivery]) -> list[Result]:
    async def all_of_them() -> list[Result]:
        client = Client(allow_private=settings.WEBHOOKS_ALLOW_PRIVATE)
        return [await attempt(one, client) for one in claimed]

    return asyncio.run(all_of_them())


def deliver() -> list[Result]:
    """Attempt every due delivery once."""
    results = attempts(claim())
    queue.settle(results)
    return results


def answering(status: int, *headers: str, body: bytes = b"ok") -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def parts(request: bytes) -> tuple[dict[str, str], bytes]:
    """Return headers (lower-case names) and body of a received request."""
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line.partition(":") for line in head.decode().split("\r\n")[1:]]
    return {name.lower(): value.strip() for name, _, value in lines}, body


def bodies(requests: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(parts(request)[1]) for request in requests]
