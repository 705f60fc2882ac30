"""Compiles format strings, in the notation of Apache, nginx or Envoy, to parsers that are linear in a line's length.

A field ends where the text that follows it in the format first occurs. Each field is matched possessively, so that
nothing is tried twice.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from kit.http.errors import InvalidRequest
from licensing.logs.prefixes import without_prefix
from licensing.logs.requests import Malformed, Visit, build_visit, shorten, unescape
from licensing.logs.times import MAX_CHARACTERS, NOT_A_TIME, parse_time

MAX_FIELDS = 60
DIRECTIVE = re.compile(
    r"(?P<envoy>%([A-Z_]{3,})(?:\(([^()]*)\))?(?::\d+)?%)"
    r"|(?P<apache>%[<>!,\d]*(?:\{([^{}]*)\})?[<>]?(\^t[io]|[A-Za-z%]))"
    r"|(?P<nginx>\$(?:\{(\w+)\}|(\w+)))"
)
# What the directives of each notation hold. Those that are not listed are skipped.
APACHE = {
    "h": "address", "a": "address", "t": "time", "r": "request", "m": "method", "U": "path", "q": "query",
    "s": "status", "v": "host", "V": "host",
}  # fmt: skip
NGINX = {
    "remote_addr": "address", "proxy_protocol_addr": "address", "proxy_add_x_forwarded_for": "address",
    "time_local": "time", "time_iso8601": "time", "msec": "time", "request": "request", "request_method": "method",
    "request_uri": "uri", "uri": "path", "document_uri": "path", "args": "query", "query_string": "query",
    "is_args": "is_args", "status": "status", "host": "host", "server_name": "host",
}  # fmt: skip
ENVOY = {
    "START_TIME": "time", "RESPONSE_CODE": "status", "DOWNSTREAM_REMOTE_ADDRESS": "address",
    "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT": "address",
}  # fmt: skip
HEADERS = {
    "user-agent": "agent", "referer": "referer", "host": "host", ":authority": "host", ":method": "method",
    ":path": "uri", "x-envoy-original-path": "uri", "x-forwarded-for": "address", "x-real-ip": "address",
    "cf-connecting-ip": "address", "true-client-ip": "address", "fastly-client-ip": "address",
}  # fmt: skip
REQUIRED = (
    (("time",), "time", "%t or $time_local"),
    (("address",), "address of the visitor", "%h or $remote_addr"),
    (("request", "uri", "path"), "request", "%r or $request"),
    (("status",), "status", "%>s or $status"),
    (("agent",), "User-Agent", "%{User-Agent}i or $http_user_agent"),
)
# Fields that may follow another one directly, and the character before which that one ends.
ADJACENT = {"query": "?", "uri": "/", "path": "/", "is_args": "?"}
UNITS = {"sec": "", "msec": "", "usec": ""}  # Unix times, whose unit follows from their size
EXPANDED = {"%T": "%H:%M:%S", "%F": "%Y-%m-%d", "%R": "%H:%M", "%D": "%m/%d/%y", "%e": "%d", "%h": "%b"}


class Field(NamedTuple):
    """A directive. `role` is the value it holds, None if it is skipped; `time_format` is strptime's, if it has one."""

    name: str
    role: str | None
    time_format: str = ""

    @property
    def is_header(self) -> bool:
        return self.name.startswith(("%{", "%REQ(", "$http_", "${http_"))

    @property
    def blanks(self) -> int:
        """The number of blanks within the value."""
        if self.time_format:
            return self.time_format.count(" ")
        return int(self.name in ("%t", "$time_local"))


class FormatString:
    """Parses lines of a format string. More fields may follow those of the format."""

    def __init__(self, literals: Sequence[str], fields: Sequence[Field]) -> None:
        self.literals = literals
        self.fields = fields
        self.match = re.compile(build_expression(literals, fields)).match

    def __call__(self, line: str) -> Visit:
        values = self.read(line)
        return build_visit(self.parse_moment(values.get("time", "")), values)

    def read(self, line: str) -> dict[str, str]:
        """Return the values of a line. Of several fields with the same role the first that is not empty counts.

        Raises Malformed.
        """
        values: dict[str, str] = {}
        for field, text in self.split(line):
            if field.role is not None and text and text != "-" and field.role not in values:
                values[field.role] = unescape(text)
        return values

    def split(self, line: str) -> Iterable[tuple[Field, str | None]]:
        """Return the fields with their texts in the line. Raises Malformed."""
        match = self.match(without_prefix(line))
        count = 0 if match is None or match.lastindex is None else match.lastindex
        if match is None or count <= len(self.fields):
            raise Malformed(self.describe_end(count))
        return zip(self.fields, match.groups(), strict=False)

    def forwarded_address(self, line: str) -> str:
        """Return the address that a header names, if the format has another one before; otherwise an empty text."""
        addresses = [(field, text) for field, text in self.split(line) if field.role == "address" and text]
        for field, text in addresses[1:]:
            if field.is_header and not addresses[0][0].is_header:
                return text
        return ""

    def recognises(self, line: str) -> bool:
        try:
            self.parse_moment(self.read(line).get("time", ""))
        except Malformed:
            return False
        return True

    def parse_moment(self, text: str) -> datetime:
        time_format = next((field.time_format for field in self.fields if field.role == "time"), "")
        if time_format and text:
            return parse_own_time(text[: MAX_CHARACTERS + 1], time_format)
        return parse_time(text)

    def describe_end(self, count: int) -> str:
        """Say where a line ends to be as the format has it, after that many fields."""
        literal = self.literals[count]
        if not literal:
            return "The line goes on where the format ends."
        position = f"behind {self.fields[count - 1].name}" if count else "at the beginning"
        return f"{shorten(literal)} is missing {position}."


@lru_cache(maxsize=20)
def compile_format(text: str) -> FormatString:
    """Compile a format string. Raises InvalidRequest."""
    text = text.replace('\\"', '"').replace("\\t", "\t")
    literals = [""]
    fields = list[Field]()
    end = 0
    for directive in DIRECTIVE.finditer(text):
        literals[-1] += text[end : directive.start()]
        end = directive.end()
        if directive[0] == "%%":
            literals[-1] += "%"
            continue
        field = read_directive(directive)
        is_time = directive[0] == "%t"
        literals[-1] += "[" if is_time else ""
        fields.append(field)
        literals.append("]" if is_time else "")
    literals[-1] += text[end:]
    check_format(literals, fields)
    return FormatString(literals, fields)


def read_directive(directive: re.Match[str]) -> Field:
    """Return the field of a directive. Raises InvalidRequest for a time whose format cannot be read."""
    name = directive[0]
    _, envoy, argument, _, braces, letter, _, braced, variable = directive.groups()
    if envoy:
        if envoy == "REQ":
            return Field(name, HEADERS.get((argument or "").partition("?")[0].lower()))
        return time_field(name, ENVOY.get(envoy), argument)
    if letter:
        if letter == "i":
            return Field(name, HEADERS.get((braces or "").lower()))
        if letter == "a" and braces:
            return Field(name, None)
        return time_field(name, APACHE.get(letter), braces)
    variable = braced or variable
    if variable.startswith("http_"):
        return Field(name, HEADERS.get(variable.removeprefix("http_").replace("_", "-")))
    return Field(name, NGINX.get(variable))


def time_field(name: str, role: str | None, argument: str | None) -> Field:
    """Return a field whose argument is a time's format, if it is a time."""
    if role != "time" or not argument or argument in UNITS:
        return Field(name, role)
    if argument.endswith("_frac"):
        return Field(name, None)
    return Field(name, role, strptime_format(name, argument.removeprefix("begin:").removeprefix("end:")))


def strptime_format(name: str, text: str) -> str:
    """Return strptime's form of a strftime format; empty for Unix times. Raises InvalidRequest."""
    if text.startswith("%s"):
        return ""
    text = re.sub(r"%\df", "%f", re.sub(r"%[TFRDeh]", lambda match: EXPANDED[match[0]], text))
    try:
        now = datetime.now(UTC)
        datetime.strptime(now.strftime(text), text)  # noqa: DTZ007 - only whether it can be parsed
    except (ValueError, re.error):
        raise InvalidRequest(f"The time's format in {name} cannot be read.") from None
    if "%z" not in text and not text.endswith("Z"):
        raise InvalidRequest(f"{name} has no offset from UTC. Add %z.")
    return text


@lru_cache(maxsize=10_000)
def parse_own_time(text: str, time_format: str) -> datetime:
    """Parse a time by a strptime format. Raises Malformed."""
    try:
        parsed = datetime.strptime(text, time_format)  # noqa: DTZ007 - without an offset it is in UTC
        if parsed.tzinfo is not None:
            return parsed.astimezone(UTC)
        return parsed.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Malformed(NOT_A_TIME.format(shorten(text))) from None


def check_format(literals: Sequence[str], fields: Sequence[Field]) -> None:
    """Raise InvalidRequest if the format lacks a field, or if it does not say where one ends."""
    roles = {field.role for field in fields}
    if len(fields) > MAX_FIELDS:
        raise InvalidRequest(f"The format has more than {MAX_FIELDS} fields.")
    for names, words, example in REQUIRED:
        if roles.isdisjoint(names):
            raise InvalidRequest(f"The format has no {words}. Add {example}.")
    for index, field in enumerate(fields):
        before = literals[index]
        behind = literals[index + 1]
        follower = fields[index + 1 : index + 2]
        if follower and not behind and field.role != "is_args" and follower[0].role not in ADJACENT:
            raise InvalidRequest(f"The format has no text between {field.name} and {follower[0].name}.")
        if field.role == "agent" and behind.startswith(" ") and not before.endswith('"'):
            raise InvalidRequest(f"{field.name} contains blanks. Log it in quotes.")


def build_expression(literals: Sequence[str], fields: Sequence[Field]) -> str:
    """Return an expression with a group for each field and one for the end: the last group tells how far it came.

    Groups are repeated in atomic ones, because `(…)*+` finds too much in Python before 3.11.5 (CPython issue 101955).
    """
    expression = rf"(?>(?:{re.escape(literals[-1])}()(?=[\s\"]|$))?)"
    for index in range(len(fields) - 1, -1, -1):
        value = value_pattern(literals, fields, index)
        expression = f"(?>(?:{re.escape(literals[index])}({value}){expression})?)"
    return expression


def value_pattern(literals: Sequence[str], fields: Sequence[Field], index: int) -> str:
    """Return the expression of a field's value."""
    field = fields[index]
    behind = literals[index + 1]
    if literals[index].endswith('"') and behind.startswith('"'):
        return r'[^"\\]*+(?>(?:\\.[^"\\]*+)*)'
    if field.role == "is_args":
        return r"\??+"
    if not behind and index + 1 == len(fields):
        return ".*+" if field.role in ("agent", "referer", "request") else r"\S*+"
    if not behind:
        stop = ADJACENT[fields[index + 1].role or ""]
        later = next((literal for literal in literals[index + 1 :] if literal), "")
        end = f"(?!{re.escape(later)})" if later else ""
        return rf"(?>(?:{end}[^{re.escape(stop)}\s])*)"
    if field.blanks and behind.startswith(" "):
        return rf"(?:[^ ]*+ ){{{field.blanks}}}[^ ]*+"
    end = f"(?!{re.escape(behind)})." if len(behind) > 1 else f"[^{re.escape(behind)}]"
    if field.role == "address" and behind.startswith(" "):
        return rf"(?>(?:, |{end})*)"
    return rf"(?>(?:{end})*)"
