"""How origin servers resolve a request path, each implemented independently of the service."""

import posixpath
import re
from collections.abc import Callable
from urllib.parse import unquote, unquote_to_bytes


def nginx(raw: str) -> str:
    """A `location` and files: decode once, merge slashes, resolve dot segments."""
    path = unquote(re.split("[?#]", raw, maxsplit=1)[0], errors="replace")
    kept: list[str] = []
    for segment in path.split("/"):
        kept = kept[:-1] if segment == ".." else kept if segment in ("", ".") else [*kept, segment]
    return "/" + "/".join(kept)


def caddy(raw: str) -> str:
    """Go's net/http, which ignores fragments, and path.Clean."""
    return posixpath.normpath("/" + unquote(raw.partition("?")[0], errors="replace").lstrip("/"))


def tomcat(raw: str) -> str:
    """Drop path parameters, then decode, merge slashes and resolve."""
    path = re.sub(r";[^/]*", "", re.split("[?#]", raw, maxsplit=1)[0])
    return posixpath.normpath("/" + unquote(path, errors="replace").lstrip("/"))


def spring(raw: str) -> str:
    """Decode first, then drop path parameters."""
    path = unquote(re.split("[?#]", raw, maxsplit=1)[0], errors="replace")
    return posixpath.normpath("/" + re.sub(r";[^/]*", "", path).lstrip("/"))


def node(raw: str) -> str:
    """`new URL(request.url)`: backslashes are slashes, empty segments count; then the path is decoded for a file."""
    path = re.split("[?#]", re.sub("[\t\r\n]", "", raw).replace("\\", "/"), maxsplit=1)[0]
    kept: list[str] = []
    for segment in path.removeprefix("/").split("/"):
        plain = re.sub("%2e", ".", segment, flags=re.IGNORECASE)
        kept = kept[:-1] if plain == ".." else kept if plain == "." else [*kept, segment]
    return posixpath.normpath("/" + unquote("/".join(kept), errors="replace").lstrip("/"))


def php(raw: str) -> str:
    """An old PHP, which opens files by names cut at a NUL."""
    return posixpath.normpath(nginx(raw).partition("\0")[0])


def iis(raw: str) -> str:
    """Backslashes are slashes, control characters are dropped."""
    path = unquote(re.split("[?#]", raw, maxsplit=1)[0], errors="replace").replace("\\", "/")
    return posixpath.normpath("/" + re.sub("[\x00-\x1f]", "", path).lstrip("/"))


def behind_uri(raw: str) -> str:
    """nginx with `proxy_pass http://origin$uri`, which forwards the decoded path."""
    return nginx(nginx(raw))


def lenient(raw: str) -> str:
    """A server that accepts overlong UTF-8."""
    octets = unquote_to_bytes(re.split("[?#]", raw, maxsplit=1)[0])
    text = re.sub(rb"[\xc0\xc1][\x80-\xbf]", lambda two: bytes([(two[0][0] & 1) << 6 | two[0][1] & 63]), octets)
    return posixpath.normpath("/" + text.decode("utf-8", "replace").lstrip("/"))


ORIGINS: list[Callable[[str], str]] = [nginx, caddy, tomcat, spring, node, php, iis, behind_uri, lenient]
