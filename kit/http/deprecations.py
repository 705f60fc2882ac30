"""Deprecated parts of the API, from the setting DEPRECATIONS, and the headers that announce them (`Deprecation` of RFC
9745, `Sunset` of RFC 8594, and `Link`).
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime

import orjson

METHODS = ("GET", "POST", "PATCH", "DELETE")
IS_PATH = re.compile(r"/v1(/([a-z0-9_-]+|\{id\}))+").fullmatch
IS_LINK = re.compile(r"https?://[\x21\x23-\x3b\x3d\x3f-\x7e]+").fullmatch  # excludes `<`, `>` and `"`
ENTRY_KEYS = {"operation", "parameter", "field", "since", "sunset", "link"}


@dataclass(frozen=True)
class Deprecation:
    """A deprecated operation such as `GET /v1/content/{id}`, or one of its query parameters or body fields.

    A dotted `field` such as `metadata.author` addresses a nested object; in an array, any element matches.
    """

    method: str
    path: str
    since: datetime
    sunset: datetime | None = None
    link: str | None = None
    parameter: str | None = None
    field: str | None = None

    @property
    def name(self) -> str:
        query, field = (f"?{self.parameter}" if self.parameter else ""), (f" {self.field}" if self.field else "")
        return f"{self.method} {self.path}{query}{field}"

    def concerns(self, method: str, path: str) -> bool:
        pattern = re.escape(self.path).replace(r"\{id\}", "[^/]+")
        return method == self.method and re.fullmatch(pattern, path) is not None

    def is_used(self, parameters: Collection[str], body: bytes) -> bool:
        """Whether a request to this operation uses the deprecated part. `parameters` are names without operators."""
        if self.parameter is not None:
            return self.parameter in parameters
        return self.field is None or has(parse_body(body), self.field.split("."))


def parse_body(body: bytes) -> object:
    """Return the parsed body, or None if it is not JSON (rejected later)."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def has(value: object, names: Sequence[str]) -> bool:
    if not names:
        return True
    if isinstance(value, list):
        return any(has(member, names) for member in value)
    return isinstance(value, dict) and names[0] in value and has(value[names[0]], names[1:])


def used_deprecations(
    deprecated: Sequence[Deprecation], method: str, path: str, parameters: Collection[str], body: bytes
) -> list[Deprecation]:
    """Return the deprecated parts that a request uses."""
    names = {name.partition("[")[0] for name in parameters}
    return [
        deprecation
        for deprecation in deprecated
        if deprecation.concerns(method, path) and deprecation.is_used(names, body)
    ]


def headers_for(deprecations: Sequence[Deprecation]) -> dict[str, str]:
    """Build the headers: the earliest dates, and every link."""
    headers = {"Deprecation": f"@{int(min(deprecation.since for deprecation in deprecations).timestamp())}"}
    ends = [deprecation.sunset for deprecation in deprecations if deprecation.sunset is not None]
    if ends:
        headers["Sunset"] = format_datetime(min(ends), usegmt=True)
    links = [
        f'<{deprecation.link}>; rel="{relation}"; type="text/html"'
        for deprecation in deprecations
        if deprecation.link
        for relation in ("deprecation", *(["sunset"] if deprecation.sunset else []))
    ]
    if links:
        headers["Link"] = ", ".join(dict.fromkeys(links))
    return headers


def parse(text: str) -> list[Deprecation]:
    """Parse a JSON array of deprecations. Raises ValueError with a message that completes "DEPRECATIONS …"."""
    if not text:
        return []
    entries = parse_body(text.encode())
    if not isinstance(entries, list):
        raise ValueError("must be a JSON array of objects")  # noqa: TRY004 - a value of the environment
    return [parse_entry(entry) for entry in entries]


def parse_entry(entry: object) -> Deprecation:
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
        raise ValueError("must be a JSON array of objects with strings")
    if unknown := sorted(entry.keys() - ENTRY_KEYS):
        raise ValueError(f"has {', '.join(unknown)}, which is not one of {', '.join(sorted(ENTRY_KEYS))}")
    method, _, path = entry.get("operation", "").partition(" ")
    if method not in METHODS or not IS_PATH(path):
        raise ValueError('needs an "operation" such as "GET /v1/content/{id}"')
    if "parameter" in entry and "field" in entry:
        raise ValueError(f'has both "parameter" and "field" for {method} {path}')
    if not IS_LINK(entry.get("link", "https://a")):
        raise ValueError(f"has a link that is no URL: {entry['link']}")
    since, sunset = moment(entry, "since"), moment(entry, "sunset")
    if since is None or (sunset is not None and sunset < since):
        raise ValueError(f'needs for {method} {path} a "since", and a "sunset" that is not before it')
    return Deprecation(
        method=method,
        path=path,
        since=since,
        sunset=sunset,
        link=entry.get("link"),
        parameter=entry.get("parameter"),
        field=entry.get("field"),
    )


def moment(entry: dict[str, str], name: str) -> datetime | None:
    """Return a field as a time in UTC; a date means midnight. None if the field is absent."""
    if name not in entry:
        return None
    try:
        parsed = datetime.fromisoformat(entry[name])
    except ValueError:
        raise ValueError(f"has a {name} that is no date: {entry[name]}") from None
    return parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)
