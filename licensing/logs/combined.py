"""Parses lines of the formats *combined* and *common* of nginx and Apache, in time proportional to their length.

Fields are read from left to right. A visitor chooses its user name, request, referer and User-Agent, so nothing is
searched for behind the place where the format has it.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

from kit.http.middleware import parse_address
from kit.values.hosts import host_of_header
from licensing.logs.prefixes import MONTHS, without_prefix
from licensing.logs.requests import NOT_A_REQUEST, Malformed, Visit, dash, first_address, shown, status_of

# Nearly every line. Each field ends at a character that it cannot contain, so nothing is tried twice.
PLAIN = re.compile(
    r'([0-9A-Fa-f.:]+) - \S+ \[([^\]]+)\] "([A-Z]+) ([^\s\\]+) HTTP/[\d.]+" (\d{3}) \S+ "([^"\\]*)" "([^"\\]*)"',
    re.ASCII,
).match
REQUEST = re.compile(r"([A-Z]+) (\S+)(?: HTTP/[\d.]+)?").fullmatch
ESCAPED = re.compile(r"\\x([0-9A-Fa-f]{2})|\\(.)")
TIME_LENGTH = len("24/Nov/2026:17:05:01 +0100")
NOT_A_TIME = "{} is not a time such as 24/Nov/2026:17:05:01 +0100."
NOT_COMBINED = "This is not a line of the combined format."
NO_AGENT = "There is no User-Agent behind the size. If the whole log is so, name it with --format common."


class Fields(NamedTuple):
    """The parts of a line: what stands before the time, the time, and what stands in and behind the request."""

    head: str
    time: str
    request: str
    rest: str


class Sender(NamedTuple):
    """Who sent a request, and to which host if the line names it."""

    host: str | None
    address: str


class Agent(NamedTuple):
    """The referer and User-Agent of a request."""

    referer: str
    user_agent: str


def parse_combined(line: str) -> Visit:
    found = PLAIN(line)
    if found is None:
        return parse_parts(line, is_common=False)
    address, time, method, uri, status, referer, user_agent = found.groups()
    agent = checked(Agent(dash(referer), dash(user_agent)))
    return Visit(parse_time(time), address, method, uri, None, agent.referer, agent.user_agent, int(status))


def parse_common(line: str) -> Visit:
    return parse_parts(line, is_common=True)


def parse_parts(line: str, *, is_common: bool) -> Visit:
    """Parse a line field by field. Lines of the common format end behind the size."""
    fields = split_fields(line)
    if fields is None:
        raise Malformed(NOT_COMBINED)
    status, size, behind = read_size(fields.rest)
    if not size:
        raise Malformed("There is no status and size behind the request.")
    agent = Agent("", "") if is_common and not behind else read_agent(behind)
    sender = read_sender(fields.head)
    request = REQUEST(unescaped(fields.request))
    if request is None:
        raise Malformed(NOT_A_REQUEST)
    moment = parse_time(fields.time)
    return Visit(moment, sender.address, request[1], request[2], sender.host, agent.referer, agent.user_agent, status)


def split_fields(line: str) -> Fields | None:
    """Split a line at its time and request. Returns None if it has none.

    The first `] "` ends the time. Servers escape quotes in a user name, so no visitor can put it before.
    """
    line = without_prefix(line)
    end = line.find('] "')
    begin = line.rfind(" [", 0, end) if end > 0 else -1
    if begin < 0:
        return None
    request, rest = read_quoted(line, end + 3)
    return None if rest is None else Fields(line[:begin], line[begin + 2 : end], request, rest)


def read_quoted(line: str, begin: int) -> tuple[str, str | None]:
    """Return the text from `begin` to its closing quote, and the rest of the line; None if no quote closes it."""
    place = begin
    while (end := line.find('"', place)) >= 0:
        backslashes = end - len(line[place:end].rstrip("\\")) - place
        if backslashes % 2 == 0:
            return line[begin:end], line[end + 1 :]
        place = end + 1
    return line[begin:], None


def read_size(rest: str) -> tuple[int, str, str]:
    """Return the status, the size, and what follows them without the blank between."""
    status, _, behind = rest.removeprefix(" ").partition(" ")
    size, _, behind = behind.partition(" ")
    return status_of(status), size, behind.strip()


def read_agent(behind: str) -> Agent:
    """Read referer and User-Agent, both in quotes. Raises Malformed."""
    if not behind:
        raise Malformed(NO_AGENT)
    if not behind.startswith('"'):
        raise Malformed(f"Behind the size must be the referer in quotes, not {shown(behind.partition(' ')[0])}.")
    referer, rest = read_quoted(behind, 1)
    if rest is None or not rest.startswith(' "'):
        raise Malformed("Behind the referer must be the User-Agent in quotes.")
    user_agent, rest = read_quoted(rest, 2)
    if rest is None:
        raise Malformed("The line ends within the User-Agent.")
    return checked(Agent(dash(unescaped(referer)), dash(unescaped(user_agent))))


def checked(agent: Agent) -> Agent:
    """Return the agent. Raises Malformed if referer and User-Agent have each other's place."""
    if agent.referer and "://" not in agent.referer and is_no_agent(agent.user_agent):
        raise Malformed(f"The User-Agent must stand behind the referer: {shown(agent.referer)} is no URL.")
    return agent


def is_no_agent(text: str) -> bool:
    return not text or text.startswith(("http://", "https://"))


def read_sender(head: str) -> Sender:
    """Read what stands before the time: a host or none, addresses, and two user names.

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
            raise Malformed(f"{shown(first)} is no host and no address.")
    if not words:
        raise Malformed(NOT_COMBINED)
    address, behind = words[0], 1
    while behind < len(words) and words[behind - 1].endswith(","):
        behind += 1
    if behind < len(words) and is_address(words[behind]):
        address = words[behind].strip("[]") if words[behind].startswith("[") else address
        behind += 1
    name = words[behind] if behind < len(words) else "-"
    if host is None and "." in name:
        host = host_of_header(name)
    return Sender(host, first_address(address))


def is_address(text: str) -> bool:
    return parse_address(first_address(text)) is not None


def unescaped(text: str) -> str:
    return ESCAPED.sub(lambda one: chr(int(one[1], 16)) if one[1] else one[2], text) if "\\" in text else text


def parse_time(text: str) -> datetime:
    """Parse a time such as `24/Nov/2026:17:05:01 +0100`. Raises Malformed."""
    if len(text) != TIME_LENGTH:
        raise Malformed(NOT_A_TIME.format(shown(text)))
    return parsed_time(text)


@lru_cache(maxsize=10_000)
def parsed_time(text: str) -> datetime:
    try:
        offset = timedelta(hours=int(text[22:24]), minutes=int(text[24:26]))
        zone = timezone(-offset if text[21] == "-" else offset)
        year, month, day = int(text[7:11]), MONTHS[text[3:6]], int(text[:2])
        local = datetime(year, month, day, int(text[12:14]), int(text[15:17]), int(text[18:20]), tzinfo=zone)
        return local.astimezone(UTC)
    except (ValueError, KeyError, IndexError, OverflowError):
        raise Malformed(NOT_A_TIME.format(shown(text))) from None


def detect_combined(line: str) -> bool | None:
    """Return True for a line of the combined format, False for one of the common, None for any other line."""
    fields = split_fields(line)
    if fields is None or not fields.time[:2].isdigit():
        return None
    try:
        _, size, behind = read_size(fields.rest)
    except Malformed:
        return None
    return bool(behind) if size else None
