"""Parses lines of access logs: nginx's and Apache's, Caddy's, CloudFront's, Fastly's and Cloudflare Logpush's."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import unquote

import orjson

from licensing.logs.combined import detect_combined, parse_combined, parse_common
from licensing.logs.prefixes import BOM, without_prefix
from licensing.logs.requests import NOT_A_REQUEST, Malformed, Visit, dash, first_address, status_of

LogFormat = Literal["combined", "common", "caddy", "cloudfront", "fastly", "logpush"]
FORMATS: tuple[LogFormat, ...] = ("combined", "common", "caddy", "cloudfront", "fastly", "logpush")

NO_AGENTS = "Lines of the common format have no User-Agent, so no crawler can be found in them."

FASTLY_FIELDS = (
    "client_ip", "host", "url", "request_method", "request_referer", "request_user_agent", "response_status",
)  # fmt: skip
LOGPUSH_FIELDS = (
    "EdgeStartTimestamp", "ClientIP", "ClientRequestHost", "ClientRequestMethod", "ClientRequestURI",
    "ClientRequestReferer", "ClientRequestUserAgent", "EdgeResponseStatus",
)  # fmt: skip
CLOUDFRONT_FIELDS = (
    "date", "time", "c-ip", "cs-method", "cs(Host)", "cs-uri-stem", "cs-uri-query", "sc-status", "cs(Referer)",
    "cs(User-Agent)",
)  # fmt: skip

# Takes a line as Latin-1, as HTTP headers are read; returns None for a line without a request, such as a header.
Parser = Callable[[str], Visit | None]


def parse_caddy(line: str) -> Visit | None:
    row = json_of(line)
    request = row.get("request")
    if request is None and is_own_line(row):
        return None
    if not isinstance(request, dict):
        raise Malformed("This is not Caddy's log of requests: `request` is not an object.")
    sent = request.get("headers")
    headers = {str(name).lower(): value for name, value in sent.items()} if isinstance(sent, dict) else {}

    def header(name: str) -> str:
        value = headers.get(name)
        return latin(value[0]) if isinstance(value, list) and value else ""

    return Visit(
        moment_of(row.get("ts")),
        first_address(latin(request.get("client_ip") or request.get("remote_ip") or request.get("remote_addr"))),
        text_of(request, "method"),
        text_of(request, "uri"),
        text_of(request, "host"),
        header("referer"),
        header("user-agent"),
        json_status(row, "status"),
    )


def is_own_line(row: dict[str, object]) -> bool:
    """Return whether Caddy logged this about itself, not about a request."""
    return {"ts", "logger"} <= row.keys() and not any(name.startswith("request") for name in row)


def parse_fastly(line: str) -> Visit:
    row = json_of(line)
    require(row, FASTLY_FIELDS)
    return Visit(
        moment_of(row.get("timestamp") or row.get("time")),
        first_address(latin(row["client_ip"])),
        text_of(row, "request_method"),
        text_of(row, "url"),
        latin(row["host"]) or None,
        latin(row["request_referer"]),
        latin(row["request_user_agent"]),
        json_status(row, "response_status"),
    )


def parse_logpush(line: str) -> Visit:
    row = json_of(line)
    require(row, LOGPUSH_FIELDS)
    return Visit(
        moment_of(row["EdgeStartTimestamp"]),
        first_address(latin(row["ClientIP"])),
        text_of(row, "ClientRequestMethod"),
        text_of(row, "ClientRequestURI"),
        latin(row["ClientRequestHost"]) or None,
        latin(row["ClientRequestReferer"]),
        latin(row["ClientRequestUserAgent"]),
        json_status(row, "EdgeResponseStatus"),
    )


def json_of(line: str) -> dict[str, object]:
    if not line.startswith("{"):
        line = without_prefix(line)
    try:
        row = orjson.loads(line.encode("latin-1"))
    except ValueError:
        raise Malformed("This is not JSON.") from None
    if not isinstance(row, dict):
        raise Malformed("This is not a JSON object.")
    return row


def require(row: dict[str, object], names: Iterable[str]) -> None:
    """Raise Malformed if the row lacks one of the fields. A field may be empty."""
    for name in names:
        if name not in row:
            raise Malformed(f"There is no {name!r}. Add it to the fields that are logged.")


def json_status(row: dict[str, object], name: str) -> int:
    """Return an HTTP status given as number or text. Raises Malformed."""
    value = row.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1_000:
        return value
    if not isinstance(value, str):
        raise Malformed(f"There is no status in {name!r}.")
    return status_of(value)


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
        line = line.removeprefix(BOM)
        if line.startswith("#"):
            if line.startswith("#Fields:"):
                self.read_header(line)
            return None
        if not self.columns:
            raise Malformed("The line #Fields, which names the columns, is missing before this line.")
        values = line.split("\t")
        if len(values) < len(self.columns):
            raise Malformed("This line has fewer columns than #Fields names.")

        def value(name: str) -> str:
            place = self.columns.get(name)
            return "" if place is None else dash(values[place])

        path, query = decoded(value("cs-uri-stem")), decoded(value("cs-uri-query"))
        if not path or not value("cs-method"):
            raise Malformed(NOT_A_REQUEST)
        return Visit(
            moment_of(f"{value('date')}T{value('time')}+00:00"),
            first_address(value("c-ip")),
            value("cs-method"),
            f"{path}?{query}" if query else path,
            value("x-host-header") or value("cs(Host)") or None,
            unquote(value("cs(Referer)")),
            unquote(unquote(value("cs(User-Agent)"))),
            status_of(value("sc-status")),
        )

    def read_header(self, line: str) -> None:
        """Read the names of the columns. Raises Malformed if one is missing that CloudFront writes."""
        columns = {name: place for place, name in enumerate(line[len("#Fields:") :].split())}
        self.columns = {}
        for name in CLOUDFRONT_FIELDS:
            if name not in columns:
                raise Malformed(f"This is not CloudFront's standard log: #Fields names no {name}.")
        self.columns = columns


def decoded(text: str) -> str:
    """Undo CloudFront's own encoding: it encodes each field once more, also what the visitor sent encoded."""
    return unquote(text, "latin-1") if "%" in text else text


def parser_of(log_format: LogFormat) -> Parser:
    if log_format == "cloudfront":
        return CloudFront()
    parsers: dict[str, Parser] = {
        "combined": parse_combined,
        "common": parse_common,
        "caddy": parse_caddy,
        "fastly": parse_fastly,
        "logpush": parse_logpush,
    }
    return parsers[log_format]


def detect(lines: Iterable[str]) -> LogFormat | None:
    """Return the format of a log's first lines; None if no format fits."""
    found: LogFormat | None = None
    for line in lines:
        found = detect_line(line) or found
        if found is not None and found != "common":  # a line without User-Agent may also be a broken one of combined
            return found
    return found


def detect_line(line: str) -> LogFormat | None:
    """Return the format that one line has; None if no format fits."""
    line = line.removeprefix(BOM)
    if line.startswith(("#Version", "#Fields")):
        return "cloudfront"
    if without_prefix(line).startswith("{"):
        return detect_json(line)
    is_combined = detect_combined(line)
    if is_combined is None:
        return None
    return "combined" if is_combined else "common"


def detect_json(line: str) -> LogFormat | None:
    try:
        row = json_of(line)
    except Malformed:
        return None
    if "ClientRequestHost" in row or "ClientRequestURI" in row:
        return "logpush"
    if isinstance(row.get("request"), dict) or {"ts", "logger"} <= row.keys():
        return "caddy"
    return "fastly" if all(name in row for name in FASTLY_FIELDS) else None
