"""A Python client whose service is a list of replies."""

import httpx
from content_access_licensing import Client


def scripted(replies: list[httpx.Response | Exception], seen: list[httpx.Request]) -> Client:
    """Return a client that gets `replies` in turn, and adds each request to `seen`."""

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        reply = replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    return Client("svc_sk_x", "http://service.test", http=httpx.Client(transport=httpx.MockTransport(answer)))
