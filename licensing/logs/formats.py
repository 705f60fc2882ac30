"""Parses lines of access logs in the formats of nginx and Apache, Caddy, CloudFront, Fastly and Cloudflare Logpush."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote

import orjson
from msgspec import Struct

LogFormat = Literal["combined", "caddy", "cloudfront", "fastly", "logpush"]
FORMATS: tuple[LogFormat, ...] = ("combined", "caddy", "cloudfront", "fastly", "logpush")

MONTHS = {name: number for number, name in enumerate(
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
)}  # fmt: skip
QUOTED = r'"((?:[^"\\]|\\.)*)"'
COMBINED = re.compile(
    r"(?:(?P<vhost>[\w.-]+)(?::\d+)? (?=[0-9A-Fa-f]*[.:]))?(?P<address>\S+) \S+ (?:\S|(?<=\S) )*?\[(?P<time>[^\]]+)\] "
    + QUOTED.replace("(", "(?P<request>", 1)
    + r" \d{3} \S+(?: "
    + QUOTED.replace("(", "(?P<referer>", 1)
    + " "
    + QUOTED.replace("(", "(?P<agent>", 1)
    + ")?"
)
PLAIN = re.compile(
    r'(\S+) \S+ \S+ \[([^\]]+)\] "([A-Z]+) ([^\s\\]+) HTTP/[\d.]+" \d{3} \S+ "([^"\\]*)" "([^"\\]*)"'
)  # nearly every line
REQUEST = re.compile(r"([A-Z]+) (\S+)(?: HTTP/[\d.]+)?")
ESCAPED = re.compile(r"\\x([0-9A-Fa-f]{2})|\\(.)")
SYSLOG = re.compile(r"<\d+>[^{\n]*?: (?=[{])")
NOT_A_REQUEST = "There is no request of a page in this line."


class Malformed(ValueError):
    """The line cannot be read; the message says why."""


class Visit(Struct, frozen=True, gc=False):
    """A logged request. `host` is None if the log format has no host."""

    moment: datetime
    address: str
    method: str
    uri: str
    host: str | None
    referer: str
    user_agent: str


# Takes a line as Latin-1, as HTTP headers are read; returns None for a line without a request, such as a header.
Parser = Callable[[str], Visit | None]


@lru_cache(maxsize=10_000)
def parse_common_time(text: str) -> datetime:
    """Parse a time such as `24/Nov/2026:17:05:01 +0100`."""
    try:
        offset = timedelta(hours=int(text[22:24]), minutes=int(text[24:26]))
        zone = timezone(-offset if text[21] == "-" else offset)
        year, month, day = int(text[7:11]), MONTHS[text[3:6]], int(text[:2])
        local = datetime(year, month, day, int(text[12:14]), int(text[15:17]), int(text[18:20]), tzinfo=zone)
        return local.astimezone(UTC)
    except (ValueError, KeyError, IndexError, OverflowError):
        raise Malformed(f"{text[:40]!r} is not a time such as 24/Nov/2026:17:05:01 +0100.") from None


def parse_combined(line: str) -> Visit:
    found = PLAIN.match(line)
    if found is not None:
        address, time, method, uri, referer, agent = found.groups()
        return Visit(parse_common_time(time), address, method, uri, None, dash(referer), dash(agent))
    parts = COMBINED.match(line)
    if parts is None:
        raise Malformed("This is not a line of the combined format.")
    request = REQUEST.fullmatch(unescaped(parts["request"]))
    if request is None:
        raise Malformed(NOT_A_REQUEST)
    referer, agent = (dash(unescaped(parts[name] or "")) for name in ("referer", "agent"))
    return Visit(
        parse_common_time(parts["time"]), parts["address"], request[1], request[2], parts["vhost"], referer, agent
    )


def unescaped(text: str) -> str:
    return ESCAPED.sub(lambda one: chr(int(one[1], 16)) if one[1] else one[2], text) if "\\" in text else text


def dash(text: str) -> str:
    return "" if text == "-" else text


def parse_caddy(line: str) -> Visit | None:
    row = json_of(line)
    request = row.get("request")
    if not isinstance(request, dict):
        return None  # a line of Caddy's own log
    sent = request.get("headers")
    headers = {str(name).lower(): value for name, value in sent.items()} if isinstance(sent, dict) else {}

    def header(name: str) -> str:
        value = headers.get(name)
        return latin(value[0]) if isinstance(value, list) and value else ""

    return Visit(
        moment_of(row.get("ts")),
        latin(request.get("client_ip") or request.get("remote_ip")),
        text_of(request, "method"),
        text_of(request, "uri"),
        text_of(request, "host"),
        header("referer"),
        header("user-agent"),
    )


def parse_fastly(line: str) -> Visit:
    row = json_of(SYSLOG.sub("", line, count=1))
    return Visit(
        moment_of(row.get("timestamp") or row.get("time")),
        latin(row.get("client_ip")),
        latin(row.get("request_method")) or "GET",
        text_of(row, "url"),
        latin(row.get("host")) or None,
        latin(row.get("request_referer")),
        latin(row.get("request_user_agent")),
    )


def parse_logpush(line: str) -> Visit:
    row = json_of(line)
    return Visit(
        moment_of(row.get("EdgeStartTimestamp")),
        latin(row.get("ClientIP")),
        latin(row.get("ClientRequestMethod")) or "GET",
        text_of(row, "ClientRequestURI"),
        latin(row.get("ClientRequestHost")) or None,
        latin(row.get("ClientRequestReferer")),
        latin(row.get("ClientRequestUserAgent")),
    )


def json_of(line: str) -> dict[str, object]:
    try:
        row = orjson.loads(line.encode("latin-1"))
    except ValueError:
        raise Malformed("This is not JSON.") from None
    if not isinstance(row, dict):
        raise Malformed("This is not a JSON object.")
    return row


def text_of(row: dict[str, object], name: str) -> str:
    text = latin(row.get(name))
    if not text:
        raise Malformed(f"There is no {name!r}.")
    return text


def latin(value: object) -> str:
    """Return a text whose characters are its bytes in UTF-8; empty without one."""
    return dash(value.encode().decode("latin-1")) if isinstance(value, str) else ""


def moment_of(value: object) -> datetime:
    """Return a time given as ISO 8601, or as Unix seconds, milliseconds or nanoseconds."""
    try:
        if isinstance(value, str):
            parsed = datetime.fromisoformat(value)
            return parsed.astimezone(UTC) if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            scale = 1 if value < 1e11 else 1_000 if value < 1e14 else 1_000_000_000
            return datetime.fromtimestamp(value / scale, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise Malformed("There is no time in this line.")


class CloudFront:
    """Parses CloudFront's standard logs. Their header line names the columns."""

    def __init__(self) -> None:
        self.columns: dict[str, int] = {}

    def __call__(self, line: str) -> Visit | None:
        if line.startswith("#"):
            if line.startswith("#Fields:"):
                self.columns = {name: place for place, name in enumerate(line[8:].split())}
            return None
        if not self.columns:
            raise Malformed("The line #Fields, which names the columns, is missing before this line.")
        values = line.split("\t")
        if len(values) < len(self.columns):
            raise Malformed("This line has fewer columns than #Fields names.")

        def value(name: str) -> str:
            place = self.columns.get(name)
            return "" if place is None else dash(values[place])

        query = value("cs-uri-query")
        path = value("cs-uri-stem")
        if not path:
            raise Malformed(NOT_A_REQUEST)
        return Visit(
            moment_of(f"{value('date')}T{value('time')}+00:00"),
            value("c-ip"),
            value("cs-method") or "GET",
            f"{path}?{query}" if query else path,
            value("x-host-header") or value("cs(Host)") or None,
            unquote(value("cs(Referer)")),
            unquote(unquote(value("cs(User-Agent)"))),
        )


def parser_of(log_format: LogFormat) -> Parser:
    if log_format == "cloudfront":
        return CloudFront()
    parsers: dict[str, Parser] = {
        "combined": parse_combined, "caddy": parse_caddy, "fastly": parse_fastly, "logpush": parse_logpush,
    }  # fmt: skip
    return parsers[log_format]


def detect(line: str) -> LogFormat | None:
    """Detect the log format from one line. Returns None if no format fits."""
    if line.startswith(("#Version", "#Fields")):
        return "cloudfront"
    if line.startswith("{") or SYSLOG.match(line):
        try:
            row = json_of(SYSLOG.sub("", line, count=1))
        except Malformed:
            return None
        if "ClientRequestHost" in row or "ClientRequestURI" in row:
            return "logpush"
        if "request" in row or {"ts", "logger"} <= row.keys():
            return "caddy"
        return "fastly" if "url" in row else None
    return "combined" if PLAIN.match(line) or COMBINED.match(line) else None
