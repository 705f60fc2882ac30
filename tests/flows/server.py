"""The service with a profile hook: `python -m tests.flows.server CONTROL_PORT`.

A line sent to the control port is answered by one line. `begin` forgets what was entered so far. `end` returns
what was entered since: a JSON list of [file, function]. There is no background work, which would be counted, too.

Functions are counted as a reader counts them. A comprehension, a generator expression or a lambda belongs to the
function around it. Python itself calls each of them as a function, comprehensions until 3.11.
"""

import asyncio
import json
import sys
import threading
from functools import cache
from pathlib import Path
from types import FrameType

import uvicorn
from django.conf import settings

from config.server import connections

ROOT = Path.cwd()
WITHIN_A_FUNCTION = {"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>", "<lambda>"}
PRODUCT = ("accounts", "analytics", "config", "kit", "licensing", "operators")

entered: list[tuple[str, str]] = []


@cache
def product_file(name: str) -> str | None:
    """Return the path below the project's folder, or None for other people's code."""
    path = Path(name)
    if not path.is_relative_to(ROOT):
        return None
    inside = path.relative_to(ROOT)
    return inside.as_posix() if inside.parts[0] in PRODUCT else None


def note(frame: FrameType, event: str, argument: object) -> None:
    """Note each call of a function of the product, in order. A coroutine is entered again after each wait."""
    if event != "call" or frame.f_code.co_name in WITHIN_A_FUNCTION:
        return
    name = product_file(frame.f_code.co_filename)
    if name is not None:
        entered.append((name, frame.f_code.co_qualname))


async def control(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        known = json.dumps(entered)
        entered.clear()
        writer.write(known.encode() + b"\n" if line == b"end\n" else b"\n")


class ProfiledServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, control_port: int) -> None:
        super().__init__(config)
        self.control_port = control_port

    async def startup(self, sockets: object = None) -> None:
        await asyncio.start_server(control, "127.0.0.1", self.control_port, limit=2**24)
        await super().startup()
        threading.setprofile(note)
        sys.setprofile(note)


def main() -> None:
    connections.SWEEP_SECONDS = 3600  # each sweep would be counted as part of the request beside it
    config = uvicorn.Config(
        app="config.asgi:application",
        host=settings.HOST,
        port=settings.PORT,
        loop="uvloop",
        ws="none",
        http="config.server.protocol:BoundedProtocol",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
    )
    ProfiledServer(config, int(sys.argv[1])).run()


if __name__ == "__main__":
    main()
