"""Simultaneous requests on the event loop."""

import asyncio
from collections.abc import Iterable
from typing import Any

import orjson
from asgiref.sync import async_to_sync

from tests.client import Reply
from tests.ways import GatewayClient


def post_together(client: GatewayClient, path: str, bodies: Iterable[Any]) -> list[Reply]:
    """Return the replies, in the order of the requests."""
    headers = {"Host": "localhost", "Content-Type": "application/json", **client.headers}
    scope = {
        "type": "http", "scheme": "http", "method": "POST", "path": path, "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 12345), "server": ("localhost", 80),
    }  # fmt: skip

    async def send() -> list[Any]:
        return await asyncio.gather(*(client.exchange(scope, orjson.dumps(body)) for body in bodies))

    return list(map(Reply, async_to_sync(send)()))
