import asyncio

from licensing.access.event_loop.application import respond
from tests.gateway.wire import served, settled, until

BODY = bytes(1024 * 1024)
REQUESTS = 60


def test_no_reply_is_made_for_a_client_that_has_not_read_the_last_ones():
    made = []

    async def application(scope, receive, send):
        made.append(scope)
        await respond(scope, send, 200, b"content-length: %d\r\n" % len(BODY), BODY)

    async def ask_without_reading():
        async with served(application) as (address, connections):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * REQUESTS)
            await until(lambda: any(connection.flow.write_paused for connection in connections.open))
            await settled()
            before_reading = len(made)
            received = 0
            while received < REQUESTS * len(BODY) and (part := await reader.read(1024 * 1024)):
                received += len(part)
            writer.close()
        return before_reading, received

    before_reading, received = asyncio.run(ask_without_reading())
    assert before_reading < REQUESTS / 2
    assert received >= REQUESTS * len(BODY)
    assert len(made) == REQUESTS
