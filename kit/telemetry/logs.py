"""How a log record becomes a line: for people or as JSON, and in both without a secret.

A record with `fields` vouches that it is ASCII and that nothing in it comes from outside, so it is spared the search,
which takes longer than all the rest of a line.
"""

import json
import logging
import re
import time
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from django.conf import settings

from kit.http.rendering import render_json

IS_OWN_ID = re.compile(r"-|req_[0-9a-f]{32}").fullmatch
REMOVED = "[removed]"
SHORTEST_SECRET = 8  # a word of a trial's settings, such as a password "licensing", would else vanish from all lines

# What looks like a secret, wherever it comes from. An API key keeps what its `prefix` shows anyway.
PATTERNS = [
    (re.compile(r"(svc_(?:[sp]k|cs)_[0-9A-Za-z]{0,6})[0-9A-Za-z]*"), r"\1…"),
    (re.compile(r"\b(Bearer|Basic|Token)\s+[^\s\"',}\]]+", re.IGNORECASE), rf"\1 {REMOVED}"),
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"), REMOVED),  # a JSON Web Token
    (re.compile(r"(://[^\s:/@]*):\S+@"), rf"\1:{REMOVED}@"),
    (re.compile(r"(\b(?:password|passwd|secret|secret_key|api_?key|token|cookie|sessionid|csrftoken)[\"']?\s*[=:]\s*)"
                r"(?:\"[^\"]*\"|'[^']*'|[^\s\"',;}&]+)", re.IGNORECASE), rf"\1{REMOVED}"),
]  # fmt: skip


@lru_cache(maxsize=1)
def own_secrets() -> tuple[str, ...]:
    """The secrets of this installation's settings, the longest first."""
    database = str(settings.DATABASES["default"].get("PASSWORD") or "")
    redis = urlsplit(settings.REDIS_URL).password or ""
    pepper = settings.API_KEY_PEPPER
    peppers = {settings.API_KEY_PEPPER_TEXT, pepper.hex(), repr(pepper)[2:-1]}
    found = {settings.SECRET_KEY, settings.METRICS_TOKEN, database, redis, unquote(redis), *peppers}
    return tuple(sorted((text for text in found if len(text) >= SHORTEST_SECRET), key=len, reverse=True))


def without_secrets(text: str) -> str:
    for secret in own_secrets():
        text = text.replace(secret, REMOVED)
    for pattern, replacement in PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def shown_id(record: logging.LogRecord) -> str:
    """The request's id, which its caller may have chosen."""
    text = getattr(record, "request_id", "-")
    return text if IS_OWN_ID(text) else without_secrets(text)


class Lines(logging.Formatter):
    """`2026-01-31T12:00:00.123Z INFO access [req_…] …`, and the traceback below it."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} [{request_id}] {message}", style="{")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name
        return timestamp(record)

    def format(self, record: logging.LogRecord) -> str:
        record.request_id = shown_id(record)
        line = super().format(record)
        return line if hasattr(record, "fields") else without_secrets(line)


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, logger, message, request_id, and what `extra={"fields": …}` gives."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        line = {
            "time": timestamp(record),
            "level": record.levelname,
            "logger": record.name,
            "message": message,
            "request_id": shown_id(record),
        }
        if hasattr(record, "fields"):
            return render_json(line | record.fields).decode()
        line["message"] = without_secrets(message)
        if record.exc_info:
            line["exception"] = without_secrets(self.formatException(record.exc_info))
        if record.stack_info:
            line["stack"] = without_secrets(record.stack_info)
        return json.dumps(line, default=str)  # in ASCII: a lone surrogate has no bytes


def timestamp(record: logging.LogRecord) -> str:
    """ISO 8601 in UTC, whatever the machine's time zone."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
