"""A logged request, and what the readers of all log formats share."""

import re
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote

from msgspec import Struct

from kit.values.hosts import host_of_header
from licensing.edge.crawlers import MAX_USER_AGENT, has_signs

NOT_A_REQUEST = "There is no request of a page in this line."
MAX_SHOWN_TEXT = 60  # characters of a text in a message
MAX_ADDRESS = 200  # characters of an address
match_request = re.compile(r"([A-Z]+) (\S+)(?: HTTP/[\d.]+)?").fullmatch
ESCAPED = re.compile(r"\\(?:x|u00)([0-9A-Fa-f]{2})|\\(.)")
HAVE_PAGE = frozenset({200, 203, 206})  # statuses of answers that have the page
REFUSED_AS_NO_REQUEST = frozenset({400, 408})  # malformed, or nothing was sent in time
SAFE_IN_PATHS = "/:@!$&'()*+,;=~"


class Malformed(ValueError):
    """The line cannot be read; the message says why."""


class NoRequest(Malformed):
    """The server has answered something that was no request, such as TLS at its port for http."""


class Visit(Struct, frozen=True, gc=False):
    """A logged request. `host` is None if the log format has no host.

    `address` is as the log has it, and may be none.
    """

    moment: datetime
    address: str
    method: str
    uri: str
    host: str | None
    referer: str
    user_agent: str
    status: int

    @property
    def is_by_crawler(self) -> bool:
        """Whether the User-Agent has signs of a crawler, listed or not."""
        return has_signs(self.user_agent[:MAX_USER_AGENT])

    @property
    def has_page(self) -> bool:
        """Whether the visitor got the page. Other requests are not imported: `notTaken`."""
        return self.status in HAVE_PAGE


def build_visit(moment: datetime, values: Mapping[str, str]) -> Visit:
    """Return the request that a line's values describe; a value that the line lacks is absent. Raises Malformed.

    The page is `uri` as the visitor sent it, `path` as the server decoded it, or within the first line `request`.
    """
    referer, user_agent = checked_agent(values.get("referer", ""), values.get("agent", ""))
    status = parse_status(values.get("status", ""))
    method, uri = read_target(values, status)
    return Visit(
        moment,
        first_address(values.get("address", "")),
        method,
        uri,
        values.get("host"),
        referer,
        user_agent,
        status,
    )


def read_target(values: Mapping[str, str], status: int) -> tuple[str, str]:
    """Return the method and the target of a request that was answered with the status. Raises Malformed."""
    uri = values.get("uri", "")
    if not uri and "path" in values:
        uri = quote(values["path"].encode("latin-1"), SAFE_IN_PATHS)
    if not uri:
        return split_request(values.get("request", ""), status)
    if query := values.get("query", "").removeprefix("?"):
        uri = f"{uri}?{query}"
    return values.get("method", "GET"), uri


def split_request(text: str, status: int) -> tuple[str, str]:
    """Return the method and the target of a request's first line. Raises NoRequest and Malformed."""
    request = match_request(text)
    if request is None and status in REFUSED_AS_NO_REQUEST:
        raise NoRequest(NOT_A_REQUEST)
    if request is None:
        raise Malformed(NOT_A_REQUEST)
    return request[1], request[2]


def checked_agent(referer: str, user_agent: str) -> tuple[str, str]:
    """Return referer and User-Agent. Raises Malformed if they have each other's place."""
    if referer and "://" not in referer and (not user_agent or user_agent.startswith(("http://", "https://"))):
        raise Malformed(f"The User-Agent must stand behind the referer: {shorten(referer)} is no URL.")
    return referer, user_agent


def without_dash(text: str) -> str:
    """Return the text; empty for `-`, which stands for nothing in logs."""
    return "" if text == "-" else text


def unescape(text: str) -> str:
    """Undo the escapes of Apache and nginx, also those of nginx's `escape=json`."""
    if "\\" in text:
        return ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2], text)
    return text


def shorten(text: str) -> str:
    """Quote the beginning of a text for a message."""
    return repr(text[:MAX_SHOWN_TEXT])


def parse_status(text: str) -> int:
    """Parse an HTTP status: three digits, or 0 for a request that was broken off. Raises Malformed."""
    if text == "0":
        return 0
    if len(text) != 3 or not (text.isascii() and text.isdigit()):
        raise Malformed(f"{shorten(text)} is not an HTTP status." if text else "There is no status in this line.")
    return int(text)


def first_address(text: str) -> str:
    """Return the first of several addresses, which is the visitor's, without quotes."""
    return text[:MAX_ADDRESS].partition(",")[0].strip(' "')


def no_address(text: str) -> str:
    """Explain that the log has no IP address where the visitor's should be."""
    if not text:
        return "There is no IP address of the visitor."
    is_name = host_of_header(text) is not None and text[-1].isalpha()
    hint = " Turn off the look-up of host names in the server." if is_name else ""
    return f"{shorten(text)} is no IP address.{hint}"
