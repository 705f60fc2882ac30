"""Read settings from the environment. An invalid value stops the start with a message that names the variable."""

import os
import re
import sys
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

match_host = re.compile(r"[\w.-]+|\[[0-9a-fA-F:.]+\]", re.ASCII).fullmatch


known_names: set[str] = set()  # every variable that has been looked up


def env(name: str, default: str = "") -> str:
    known_names.add(name)
    return os.environ.get(name, default).strip()


def env_list(name: str, default: str = "") -> list[str]:
    return [item.strip() for item in env(name, default).split(",") if item.strip()]


def env_host(name: str) -> str:
    """Return a host name in lower case, or nothing."""
    text = env(name)
    return checked_host(name, text).lower() if text else ""


def env_hosts(name: str, default: str) -> list[str]:
    """Return a comma-separated list of host names; `*` stands for all, and `.example.com` for all of a domain."""
    return [host if host == "*" else checked_host(name, host) for host in env_list(name, default)]


def checked_host(name: str, host: str) -> str:
    if not match_host(host):
        sys.exit(
            f"The environment variable {name} must be a host name such as api.example.com, without scheme, port or "
            f"path, not {host!r}."
        )
    return host


def env_int(name: str, default: int, most: int, least: int = 1) -> int:
    text = env(name) or str(default)
    if not text.isdecimal() or not least <= int(text) <= most:
        sys.exit(f"The environment variable {name} must be a whole number from {least} to {most}, not {text!r}.")
    return int(text)


def env_seconds(name: str, default: str) -> list[int]:
    """Return a comma-separated list of seconds."""
    texts = [text.strip() for text in (env(name) or default).split(",")]
    if not all(text.isascii() and text.isdecimal() and len(text) <= 9 for text in texts):
        sys.exit(f"The environment variable {name} must be seconds separated by commas, not {','.join(texts)!r}.")
    return [int(text) for text in texts]


def env_parsed(name: str, parse: Callable[[str], T]) -> T:
    """Return the value parsed by `parse`. The text of its ValueError completes "The environment variable NAME …"."""
    try:
        return parse(env(name))
    except ValueError as error:
        sys.exit(f"The environment variable {name} {error}.")


def env_bool(name: str, default: str = "") -> bool:
    text = (env(name) or default).lower()
    if text not in {"", "0", "1", "true", "false", "yes", "no", "on", "off"}:
        sys.exit(f"The environment variable {name} must be on or off, not {text!r}.")
    return text in {"1", "true", "yes", "on"}


def env_choice(name: str, *choices: str) -> str:
    """Return one of the choices; defaults to the first."""
    text = env(name).lower() or choices[0]
    if text not in choices:
        sys.exit(f"The environment variable {name} must be {' or '.join(choices)}, not {text!r}.")
    return text


def env_url(name: str, *schemes: str) -> str:
    """Return a URL. Error messages omit the value, because it may contain a password."""
    text = env(name)
    if text and not text.startswith(tuple(f"{scheme}:" for scheme in schemes)):
        sys.exit(f"The environment variable {name} must be a URL that begins with {' or '.join(schemes)}.")
    return text
