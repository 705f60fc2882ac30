import asyncio
from io import BytesIO

import pytest

from config.server.bridge import Exchange

SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/v1/é",
    "query_string": b"a=1",
    "http_version": "1.1",
    "headers": [(b"x-one", b"1"), (b"content-length", b"4")],
}


class Streamed(list):
    streaming = True
    closed = False

    def close(self):
        self.closed = True


def exchanged(wsgi, body=b"sent", **scope):
    """Return the requests and replies of a WSGI application behind the bridge."""
    sent = []

    async def exchange():
        async def send(message):
            sent.append(message)

        made = Exchange(wsgi, {**SCOPE, **scope}, BytesIO(body), send)
        reply = await asyncio.get_running_loop().run_in_executor(None, made.run)
        if reply is not None:
            await made.answer(reply)

    asyncio.run(exchange())
    return sent


def echo(environ, start_response):
    start_response("201 Created", [("X-Two", "2")])
    return [
        environ["PATH_INFO"].encode("latin-1"),
        b" ",
        environ["wsgi.input"].read(4),
        environ["HTTP_X_ONE"].encode(),
    ]


def test_the_application_gets_the_request_and_its_reply_leaves_whole():
    head, body = exchanged(echo)
    assert (head["status"], body["body"]) == (201, "/v1/é sent1".encode())
    assert head["headers"] == [(b"x-two", b"2"), (b"content-length", b"12")]


def test_a_server_that_takes_a_reply_at_once_gets_it_so():
    taken = []

    def respond(*reply):
        taken.append(reply)
        return True

    assert exchanged(echo, extensions={"respond": respond}) == []
    [(status, head, body)] = taken
    assert (status, head, body) == (201, b"x-two: 2\r\ncontent-length: 12\r\n", "/v1/é sent1".encode())


def test_a_reply_to_head_has_no_body():
    taken = []
    exchanged(echo, method="HEAD", extensions={"respond": lambda *reply: taken.append(reply) or True})
    assert taken[0][2] == b""
    assert b"content-length: 12" in taken[0][1]


def test_replies_that_the_server_cannot_take_at_once_are_sent():
    assert len(exchanged(echo, extensions={"respond": lambda *reply: False})) == 2


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_a_reply_that_has_no_body_tells_no_length(status):
    def nothing(environ, start_response):
        start_response(status, [])
        return []

    assert exchanged(nothing)[0]["headers"] == []


def test_a_streamed_reply_is_sent_chunk_by_chunk_and_closed():
    streamed = Streamed([b"one", b"two"])

    def stream(environ, start_response):
        start_response("200 OK", [])
        return streamed

    head, *chunks = exchanged(stream)
    assert head["headers"] == []
    assert [(chunk["body"], chunk.get("more_body", False)) for chunk in chunks] == [
        (b"one", True),
        (b"two", True),
        (b"", False),
    ]
    assert streamed.closed


def test_a_failure_of_the_application_is_the_servers_to_answer():
    def fail(environ, start_response):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        exchanged(fail)
