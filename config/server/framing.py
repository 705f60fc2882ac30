"""Where a body ends: what of HTTP's framing is refused because two readers could disagree on it (RFC 9112, 6.1-6.3).

The parser itself refuses Transfer-Encoding beside Content-Length.
"""

from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from kit.http.errors import InvalidRequest, UnknownTransferCoding

Headers = list[tuple[bytes, bytes]]


def check_codings(codings: bytes, http_version: str) -> None:
    """Raises InvalidRequest and UnknownTransferCoding unless Transfer-Encoding is exactly `chunked`, in HTTP/1.1."""
    names = [name.strip(b" \t").lower() for name in codings.split(b",")]
    if http_version != "1.1":
        raise InvalidRequest(f"HTTP/{http_version} has no Transfer-Encoding.", param="Transfer-Encoding")
    if names[-1] != b"chunked" or names.count(b"chunked") > 1:
        raise InvalidRequest("Transfer-Encoding must end with chunked, given once.", param="Transfer-Encoding")
    if len(names) > 1:
        raise UnknownTransferCoding("The only transfer coding served is chunked.", param="Transfer-Encoding")


def check_upgrade(headers: Headers, codings: bytes) -> None:
    """Raises InvalidRequest for a body beside Upgrade: the parser leaves unread what follows such a head."""
    if codings or any(name == b"content-length" and value.strip(b"0") for name, value in headers):
        raise InvalidRequest("No other protocol is served: a request with a body needs no Upgrade.", param="Upgrade")


async def send_unasked(cycle: RequestResponseCycle, message: Any) -> None:
    """Ends the connection after a reply to a client that still waits for 100 Continue (RFC 9110, 10.1.1).

    It may keep the body to itself, or send it all the same: what follows could be either that or a request.
    """
    if cycle.waiting_for_100_continue and cycle.more_body:
        cycle.keep_alive = False
    await cycle.send(message)
