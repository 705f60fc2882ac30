"""Host names in normal form: lower case, IDNA, without port or final dot."""

import re
from functools import lru_cache

MAX_HOST = 253
HOST_RULE = "Must be a host name such as news.example, without scheme, port and path."
HOST_PATTERN = r"^[^\s/:?#@]+$"  # for schemas; includes names in other scripts
IS_HOST = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*").fullmatch
PORT = re.compile(r":\d{1,5}$")


def parse_host(text: str) -> str:
    """Return a host name in normal form. Raises ValueError."""
    name = text.removesuffix(".")
    try:
        if not name.isascii():
            name = name.encode("idna").decode("ascii")
    except UnicodeError:
        raise ValueError(HOST_RULE) from None
    name = name.lower()
    if len(name) > MAX_HOST or not IS_HOST(name):
        raise ValueError(HOST_RULE)
    return name


def host_of_header(value: str) -> str | None:
    """Return the host name in a Host header, or None if it is not valid."""
    return parsed_header(value) if len(value) <= MAX_HOST + 10 else None


@lru_cache(maxsize=10_000)
def parsed_header(value: str) -> str | None:
    try:
        return parse_host(PORT.sub("", value.strip()))
    except ValueError:
        return None
