"""Log formatters for people and for machines (JSON); both remove secrets.

A record with `fields` promises that its message is ASCII and contains nothing from outside. It skips the search for
secrets, which takes longer than formatting the rest of the line.
"""

import json
import logging
import re
import time
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlsplit

from django.conf import settings

from kit.http.rendering import render_json

match_own_id = re.compile(r"-|req_[0-9a-f]{32}").fullmatch
REDACTED = "[removed]"
# shorter settings, such as the password "licensing" of a trial, would otherwise vanish from every line
SHORTEST_SECRET = 8

# Anything that looks like a secret, whatever its source. API keys keep the part that their `prefix` shows.
API_KEY = re.compile(r"(svc_(?:[sp]k|cs)_[0-9A-Za-z]{0,6})[0-9A-Za-z]*")
CREDENTIALS = re.compile(r"\b(Bearer|Basic|Token)\s+[^\s\"',}\]]+", re.IGNORECASE)
NAMED = re.compile(
    r"(\b(?:password|passwd|secret|secret_key|api_?key|token|cookie|sessionid|csrftoken)[\"']?\s*[=:]\s*)"
    r"(?:\"[^\"]*\"|'[^']*'|[^\s\"',;}&]+)",
    re.IGNORECASE,
)
WORD = re.compile(r"\S+")
DOTTED = re.compile(r"[\w.-]+")
JSON_WEB_TOKEN = re.compile(r"\beyJ(?=[\w-])")
ENDS_USER = re.compile(r"[:/@]")


@lru_cache(maxsize=1)
def own_secrets() -> tuple[str, ...]:
    """Return the secrets in this installation's settings, longest first."""
    databases = [str(database.get("PASSWORD") or "") for database in settings.DATABASES.values()]
    redis = passwords_in(settings.REDIS_URL)
    peppers = {settings.API_KEY_PEPPER_TEXT, *settings.FORMER_PEPPER_TEXTS}
    for pepper in (settings.API_KEY_PEPPER, *settings.FORMER_PEPPERS):
        peppers |= {pepper.hex(), repr(pepper)[2:-1]}
    secrets = {settings.SECRET_KEY, settings.METRICS_TOKEN, *settings.ARCHIVE_SECRETS}
    texts = {*secrets, *databases, *redis, *map(unquote, redis), *peppers}
    return tuple(sorted((text for text in texts if len(text) >= SHORTEST_SECRET), key=len, reverse=True))


def passwords_in(url: str) -> list[str]:
    """Return the passwords of a URL, which may name several hosts."""
    parts = urlsplit(url.translate({ord("["): None, ord("]"): None}))  # an IPv6 address in a list is an error
    options = [value for name, value in parse_qsl(parts.query) if name.endswith("password")]
    return [parts.password or "", *options]


def redact_secrets(text: str) -> str:
    for secret in own_secrets():
        text = text.replace(secret, REDACTED)
    text = API_KEY.sub(r"\1…", text)
    text = CREDENTIALS.sub(rf"\1 {REDACTED}", text)
    if "eyJ" in text:
        text = DOTTED.sub(redact_tokens, text)
    if "://" in text:
        text = WORD.sub(redact_password, text)
    return NAMED.sub(rf"\1{REDACTED}", text)


def redact_password(word: re.Match[str]) -> str:
    """Remove the password of a URL, up to its last `@`. A password may have any characters but blanks."""
    text = word[0]
    last = text.rfind("@")
    position = text.find("://")
    while 0 <= position < last:
        end = ENDS_USER.search(text, position + 3)
        if end is not None and end[0] == ":" and end.start() + 1 < last:
            return f"{text[: end.start()]}:{REDACTED}{text[last:]}"
        position = text.find("://", position + 3)
    return text


def redact_tokens(dotted: re.Match[str]) -> str:
    """Remove JSON Web Tokens, which are three parts with dots between, from a text without blanks."""
    parts = dotted[0].split(".")
    kept_parts = []
    index = 0
    while index < len(parts):
        begin = JSON_WEB_TOKEN.search(parts[index])
        if begin is not None and len(parts) > index + 2 and parts[index + 1] and parts[index + 2]:
            kept_parts.append(parts[index][: begin.start()] + REDACTED)
            index += 3
        else:
            kept_parts.append(parts[index])
            index += 1
    return ".".join(kept_parts)


def shown_id(record: logging.LogRecord) -> str:
    """Return the record's request id, cleaned if a client chose it."""
    text = getattr(record, "request_id", "-")
    return text if match_own_id(text) else redact_secrets(text)


class Lines(logging.Formatter):
    """Formats lines such as `2026-01-31T12:00:00.123Z INFO access [req_…] …`, followed by any traceback."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} [{request_id}] {message}", style="{")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name
        return format_timestamp(record)

    def format(self, record: logging.LogRecord) -> str:
        record.request_id = shown_id(record)
        line = super().format(record)
        return line if hasattr(record, "fields") else redact_secrets(line)


class JsonLines(logging.Formatter):
    """Formats one JSON object per line: time, level, logger, message, request_id, and the fields in `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        line = {
            "time": format_timestamp(record),
            "level": record.levelname,
            "logger": record.name,
            "message": message,
            "request_id": shown_id(record),
        }
        if hasattr(record, "fields"):
            return render_json(line | record.fields).decode()
        line["message"] = redact_secrets(message)
        if record.exc_info:
            line["exception"] = redact_secrets(self.formatException(record.exc_info))
        if record.stack_info:
            line["stack"] = redact_secrets(record.stack_info)
        return json.dumps(line, default=str)  # ASCII, because a lone surrogate cannot be encoded


def format_timestamp(record: logging.LogRecord) -> str:
    """Return the record's time as ISO 8601 in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
