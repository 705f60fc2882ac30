"""Parses lines of the formats *combined* and *common* of nginx and Apache, in time proportional to their length.

Fields are read from left to right. A visitor chooses its user name, request, referer and User-Agent, so nothing is
searched for behind the place where the format has it.
"""

import re
from typing import NamedTuple

from kit.http.headers import parse_address
from kit.values.hosts import host_of_header
from licensing.logs.prefixes import without_prefix
from licensing.logs.requests import (
    Malformed,
    Visit,
    checked_agent,
    first_address,
    parse_status,
    shorten,
    split_request,
    unescape,
    without_dash,
)
from licensing.logs.times import parse_time

# Nearly every line. Each field ends at a character that it cannot contain, so nothing is tried twice.
match_plain_line = re.compile(
    r'([0-9A-Fa-f.:]+) - \S+ \[([^\]]+)\] "([A-Z]+) ([^\s\\]+) HTTP/[\d.]+" (\d{3}) \S+ "([^"\\]*)" "([^"\\]*)"',
    re.ASCII,
).match
NOT_COMBINED = "This is not a line of the combined format."
NO_AGENT = "There is no User-Agent behind the size. If the whole log is so, name it with --format common."


class Fields(NamedTuple):
    """The parts of a line: what stands before the time, the time, and what stands in and behind the request."""

    head: str
    time: str
    request: str
    rest: str


def parse_combined(line: str) -> Visit:
    match = match_plain_line(line)
    if match is None:
        return parse_parts(line, is_common=False)
    address, time, method, uri, status, referer, user_agent = match.groups()
    referer, user_agent = checked_agent(without_dash(referer), without_dash(user_agent))
    return Visit(parse_time(time), address, method, uri, None, referer, user_agent, int(status))


def words_behind_agent(line: str) -> list[str]:
    """Return the words of the fields behind the User-Agent, which are not read."""
    match = match_plain_line(line)
    further = "" if match is None else line[match.end() :]
    return further.replace('"', " ").split()


def parse_common(line: str) -> Visit:
    return parse_parts(line, is_common=True)


def parse_parts(line: str, *, is_common: bool) -> Visit:
    """Parse a line field by field. Lines of the common format end behind the size."""
    fields = split_fields(line)
    if fields is None:
        raise Malformed(NOT_COMBINED)
    status, size, after_size = read_size(fields.rest)
    if not size:
        raise Malformed("There is no status and size behind the request.")
    referer = user_agent = ""
    if after_size or not is_common:
        referer, user_agent = read_agent(after_size)
    host, address = read_sender(fields.head)
    method, uri = split_request(unescape(fields.request), status)
    return Visit(parse_time(fields.time), address, method, uri, host, referer, user_agent, status)


def split_fields(line: str) -> Fields | None:
    """Split a line at its time and request. Returns None if it has none.

    The first `] "` ends the time. Servers escape quotes in a user name, so no visitor can put it before.
    """
    line = without_prefix(line)
    end = line.find('] "')
    begin = line.rfind(" [", 0, end) if end > 0 else -1
    if begin < 0:
        return None
    request, after_request = read_quoted(line, end + 3)
    return None if after_request is None else Fields(line[:begin], line[begin + 2 : end], request, after_request)


def read_quoted(line: str, begin: int) -> tuple[str, str | None]:
    """Return the text from `begin` to its closing quote, and the rest of the line; None if no quote closes it."""
    position = begin
    while (end := line.find('"', position)) >= 0:
        backslashes = end - len(line[position:end].rstrip("\\")) - position
        if backslashes % 2 == 0:
            return line[begin:end], line[end + 1 :]
        position = end + 1
    return line[begin:], None


def read_size(text: str) -> tuple[int, str, str]:
    """Return the status, the size, and what follows them without the blank between."""
    status, _, remainder = text.removeprefix(" ").partition(" ")
    size, _, remainder = remainder.partition(" ")
    return parse_status(status), size, remainder.strip()


def read_agent(text: str) -> tuple[str, str]:
    """Read referer and User-Agent, both in quotes. Raises Malformed."""
    if not text:
        raise Malformed(NO_AGENT)
    if not text.startswith('"'):
        raise Malformed(f"Behind the size must be the referer in quotes, not {shorten(text.partition(' ')[0])}.")
    referer, remainder = read_quoted(text, 1)
    if remainder is None or not remainder.startswith(' "'):
        raise Malformed("Behind the referer must be the User-Agent in quotes.")
    user_agent, remainder = read_quoted(remainder, 2)
    if remainder is None:
        raise Malformed("The line ends within the User-Agent.")
    return checked_agent(without_dash(unescape(referer)), without_dash(unescape(user_agent)))


def read_sender(head: str) -> tuple[str | None, str]:
    """Return the host, if the line names it, and the address of a request from what stands before the time.

    That is a host or none, addresses, and two user names.

    `X-Forwarded-For` has several addresses, separated by commas; the first is the visitor's. The server's own
    view of the address may follow, also in place of the first user name. A load balancer's address comes before
    the visitor's only if that is in brackets. Some providers write the host in place of the first user name.
    """
    words = head.removeprefix('"').split()
    host = None
    if len(words) > 1 and not is_address(words[0]) and is_address(words[1]):
        first = words.pop(0)
        host = None if first == "-" else host_of_header(first)
        if host is None and first != "-":
            raise Malformed(f"{shorten(first)} is no host and no address.")
    if not words:
        raise Malformed(NOT_COMBINED)
    address = words[0]
    position = 1
    while position < len(words) and words[position - 1].endswith(","):
        position += 1
    if position < len(words) and is_address(words[position]):
        address = words[position].strip("[]") if words[position].startswith("[") else address
        position += 1
    name = words[position] if position < len(words) else "-"
    if host is None and "." in name:
        host = host_of_header(name)
    return host, first_address(address)


def is_address(text: str) -> bool:
    return parse_address(first_address(text)) is not None


def detect_combined(line: str) -> bool | None:
    """Return True for a line of the combined format, False for one of the common, None for any other line."""
    fields = split_fields(line)
    if fields is None or not fields.time[:2].isdigit():
        return None
    try:
        _, size, after_size = read_size(fields.rest)
    except Malformed:
        return None
    return bool(after_size) if size else None
