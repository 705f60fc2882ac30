"""The formats of access logs. A new one is an entry in one of these tables."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial
from typing import Protocol

from kit.http.errors import InvalidRequest
from licensing.logs.combined import detect_combined, parse_combined, parse_common
from licensing.logs.format_strings import compile_format
from licensing.logs.named_fields import Columns, JsonLines, NamedFields, unquote_text, unquote_twice
from licensing.logs.requests import Visit

NOT_KNOWN = (
    "The format of this log is not known. Known are {}. Name one with --format, or give the format string of the "
    "server's configuration (docs/guides/logs.md)."
)

CLOUDFRONT = NamedFields(
    {
        "time": "date+time timestamp", "address": "c-ip", "method": "cs-method", "uri": "cs-uri-stem",
        "query": "cs-uri-query ?", "host": "x-host-header cs(Host)", "referer": "cs(Referer)",
        "agent": "cs(User-Agent)", "status": "sc-status",
    },
    # CloudFront encodes each field once more, also what the visitor sent encoded.
    decoders={"uri": unquote_text, "query": unquote_text, "referer": unquote_text, "agent": unquote_twice},
    distinctive="x-edge-",
)  # fmt: skip
JSON_FORMATS = {
    "caddy": NamedFields(
        {
            "time": "ts", "address": "request>client_ip request>remote_ip request>remote_addr ?",
            "method": "request>method", "uri": "request>uri", "host": "request>host",
            "referer": "request>headers>Referer ?", "agent": "request>headers>User-Agent ?", "status": "status",
        },
        own_names="ts logger",
    ),
    "cloudfront-json": CLOUDFRONT,
    "fastly": NamedFields({
        "time": "timestamp time", "address": "client_ip", "method": "request_method", "uri": "url", "host": "host",
        "referer": "request_referer", "agent": "request_user_agent", "status": "response_status",
    }),
    "logpush": NamedFields({
        "time": "EdgeStartTimestamp", "address": "ClientIP", "method": "ClientRequestMethod",
        "uri": "ClientRequestURI", "host": "ClientRequestHost", "referer": "ClientRequestReferer",
        "agent": "ClientRequestUserAgent", "status": "EdgeResponseStatus",
    }),
    "traefik": NamedFields({
        "time": "StartUTC time", "address": "ClientHost ClientAddr", "method": "RequestMethod", "uri": "RequestPath",
        "host": "RequestHost RequestAddr", "referer": "request_Referer ?", "agent": "request_User-Agent",
        "status": "DownstreamStatus",
    }),
    "envoy-json": NamedFields({
        "time": "start_time", "address": "x_forwarded_for x-forwarded-for downstream_remote_address",
        "method": "method", "uri": "x-envoy-origin-path path", "host": "authority :authority",
        "referer": "referer ?", "agent": "user_agent user-agent", "status": "response_code",
    }),
    "nginx-json": NamedFields({
        "time": "time_iso8601 time_local msec time timestamp @timestamp",
        "address": "remote_addr client_ip clientip client remote_ip http_x_forwarded_for",
        "request": "request ?", "method": "request_method method ?", "uri": "request_uri uri ?",
        "host": "host http_host server_name vhost ?", "referer": "http_referer http_referrer referer referrer ?",
        "agent": "http_user_agent user_agent agent", "status": "status",
    }),
}  # fmt: skip
COLUMN_FORMATS = {
    "cloudfront": CLOUDFRONT,
    # IIS writes blanks as `+`. It adds X-Forwarded-For if an administrator names it, behind a load balancer.
    "w3c": NamedFields(
        {
            "time": "date+time", "address": "X-Forwarded-For c-ip", "method": "cs-method",
            "uri": "cs-uri-stem cs-uri", "query": "cs-uri-query ?", "host": "cs-host cs(Host) ?",
            "referer": "cs(Referer) cs(Referrer) ?", "agent": "cs(User-Agent)", "status": "sc-status",
        },
        decoders={
            "address": lambda text: text.replace("+", " "),
            "uri": lambda text: text.replace("+", "%20"),
            "agent": lambda text: text.replace("+", " "),
        },
    ),
}  # fmt: skip
TEXT_FORMATS = {
    "envoy": (
        '[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% '
        "%RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "
        '"%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"'
    ),
    "alb": (
        "$type $time_iso8601 $balancer $remote_addr $target $a $b $c $status $target_status $received $sent "
        '"$request" "$http_user_agent"'
    ),
    "elb": (
        "$time_iso8601 $balancer $remote_addr $target $a $b $c $status $target_status $received $sent "
        '"$request" "$http_user_agent"'
    ),
}


# Takes a line as Latin-1, as HTTP headers are read. Returns None for a line without a request. Raises Malformed.
Parser = Callable[[str], Visit | None]


class Recogniser(Protocol):
    def __call__(self, line: str, /) -> Visit | None: ...

    def recognises(self, line: str) -> bool: ...


FACTORIES: dict[str, Callable[[], Recogniser]] = {
    **{name: partial(JsonLines, named_fields) for name, named_fields in JSON_FORMATS.items()},
    **{name: partial(Columns, named_fields) for name, named_fields in COLUMN_FORMATS.items()},
    **{name: partial(compile_format, text) for name, text in TEXT_FORMATS.items()},
}
PLAIN_FORMATS: dict[str, Parser] = {"combined": parse_combined, "common": parse_common}
FORMATS = (*PLAIN_FORMATS, *sorted(FACTORIES))


def is_format_string(log_format: str) -> bool:
    return "%" in log_format or "$" in log_format


def get_parser(log_format: str) -> Parser:
    """Return the parser of a format, given by its name or as a format string. Raises InvalidRequest."""
    if is_format_string(log_format):
        return compile_format(log_format)
    if log_format in PLAIN_FORMATS:
        return PLAIN_FORMATS[log_format]
    if log_format in FACTORIES:
        return FACTORIES[log_format]()
    near = get_close_matches(log_format, FORMATS, 1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(FORMATS)}."
    raise InvalidRequest(f"There is no log format {log_format[:60]!r}. {hint} A format string has fields such as %h.")


def detect_format(lines: Iterable[str]) -> str:
    """Return the format of a log by its first lines. Raises InvalidRequest if no format fits."""
    name: str | None = None
    for line in lines:
        name = detect_line(line) or name
        if name is not None and name != "common":  # a line without User-Agent may also be a broken one of combined
            return name
    if name is None:
        raise InvalidRequest(NOT_KNOWN.format(", ".join(FORMATS)))
    return name


def detect_line(line: str) -> str | None:
    """Return the format that one line has; None if no format fits."""
    is_combined = detect_combined(line)
    if is_combined is not None:
        return "combined" if is_combined else "common"
    return next((name for name, make in FACTORIES.items() if make().recognises(line)), None)
