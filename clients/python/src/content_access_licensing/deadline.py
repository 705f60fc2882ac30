"""A deadline for a whole reply. The timeouts of httpx bound each read, so a reply that trickles in passes them."""

from contextvars import ContextVar
from time import monotonic
from typing import Any

import anyio
import httpcore
import httpx

CONNECTED = ("connect_tcp.complete", "connect_unix_socket.complete", "start_tls.complete")
deadline: ContextVar[float | None] = ContextVar("deadline", default=None)  # of this thread's request, by monotonic()


def get(http: httpx.Client, path: str, headers: list[tuple[bytes, bytes]], seconds: float) -> httpx.Response:
    """Raises httpx.TimeoutException if the reply is not complete within `seconds`, or after connecting for as long."""
    token = deadline.set(monotonic() + seconds)
    try:
        return http.get(path, headers=headers, timeout=seconds, extensions={"trace": bound_reads})
    finally:
        deadline.reset(token)


async def get_async(
    http: httpx.AsyncClient, path: str, headers: list[tuple[bytes, bytes]], seconds: float
) -> httpx.Response:
    """Raises httpx.TimeoutException if the reply is not complete within `seconds`."""
    try:
        with anyio.fail_after(seconds):
            return await http.get(path, headers=headers, timeout=seconds)
    except TimeoutError as error:
        raise httpx.ReadTimeout(f"No complete reply within {seconds} seconds.") from error


def bound_reads(event: str, info: dict[str, Any]) -> None:
    """Trace of httpcore: make each new connection read until the deadline of the request that reads it."""
    if event.endswith(CONNECTED):
        stream = info["return_value"]
        read = stream.read

        def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
            limit = deadline.get()
            if limit is not None:
                timeout = limit - monotonic()
                if timeout <= 0:
                    raise httpcore.ReadTimeout("The deadline of the reply has passed.")
            data: bytes = read(max_bytes, timeout)
            return data

        stream.read = read_in_time
