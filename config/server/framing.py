"""The bounds of a head, and the end of a body: framing that two readers could disagree on is refused (RFC 9112,
6.1-6.3).

The parser itself refuses Transfer-Encoding beside Content-Length.
"""

from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from kit.http.errors import InvalidRequest, UnknownTransferCoding

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent

Headers = list[tuple[bytes, bytes]]

MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 100
TOO_LARGE = "The head of the request is larger than 64 KiB, or has more than 100 headers."


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


async def send_unasked(cycle: RequestResponseCycle, message: "ASGISendEvent") -> None:
    """Ends the connection after a reply to a client that still waits for 100 Continue (RFC 9110, 10.1.1).

    It may keep the body to itself, or send it all the same: what follows could be either that or a request.
    """
    if cycle.waiting_for_100_continue and cycle.more_body:
        cycle.keep_alive = False
    await cycle.send(message)
