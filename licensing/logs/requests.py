"""A logged request, and what the parsers of all log formats share."""

from datetime import datetime

from msgspec import Struct

NOT_A_REQUEST = "There is no request of a page in this line."
MOST_SHOWN = 60  # characters of a text in a message
MOST_READ = 200  # characters of an address


class Malformed(ValueError):
    """The line cannot be read; the message says why."""


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


def dash(text: str) -> str:
    """Return the text; empty for `-`, which stands for nothing in logs."""
    return "" if text == "-" else text


def shown(text: str) -> str:
    """Quote the beginning of a text for a message."""
    return repr(text[:MOST_SHOWN])


def status_of(text: str) -> int:
    """Parse an HTTP status of three digits. Raises Malformed."""
    if len(text) != 3 or not (text.isascii() and text.isdigit()):
        raise Malformed(f"{shown(text)} is not an HTTP status.")
    return int(text)


def first_address(text: str) -> str:
    """Return the first of several addresses, which is the visitor's, without quotes."""
    return text[:MOST_READ].partition(",")[0].strip(' "')
