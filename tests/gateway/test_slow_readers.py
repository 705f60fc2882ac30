"""Replies to a slow reader wait for it without piling up in memory."""

import asyncio

from uvicorn import Config
from uvicorn.server import ServerState

from config.server.protocol import BoundedProtocol
from licensing.access.event_loop.application import respond

BODY = bytes(1024 * 1024)
REQUESTS = 60


def test_no_reply_is_made_for_a_client_that_has_not_read_the_last_ones():
    made = []

    async def application(scope, receive, send):
        made.append(scope)
        await respond(scope, send, 200, b"content-length: %d\r\n" % len(BODY), BODY)

    async def ask_without_reading():
        config = Config(application, http=BoundedProtocol, log_config=None)
        config.load()
        state = ServerState()
        server = await asyncio.get_running_loop().create_server(
            lambda: BoundedProtocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * REQUESTS)
        await asyncio.sleep(0.3)
        before_reading = len(made)
        received = 0
        while received < REQUESTS * len(BODY) and (part := await reader.read(1024 * 1024)):
            received += len(part)
        writer.close()
        server.close()
        return before_reading, received

    before_reading, received = asyncio.run(ask_without_reading())
    assert before_reading < REQUESTS / 2
    assert received >= REQUESTS * len(BODY)
    assert len(made) == REQUESTS
