"""Normalise http(s) URLs: one form for all spellings that RFC 3986 §6.2.2 and §6.2.3 call equivalent.

Scheme, path (including case and empty segments) and query remain significant.
"""

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, quote, quote_from_bytes, unquote, urlsplit

from kit.values.hosts import encode_label, map_name

URL_SCHEMA: dict[str, object] = {
    "type": "string",
    "format": "uri",
    "pattern": r"^[Hh][Tt][Tt][Pp][Ss]?://[^\s/?#]+\S*$",
}
DEFAULT_PORTS = {"http": 80, "https": 443}
UNRESERVED = r"A-Za-z0-9._~\-"
SUB_DELIMITERS = "!$&'()*+,;="
PCHAR = f"{UNRESERVED}{SUB_DELIMITERS}:@"

# Most URLs are normal already, and checking that is several times faster than normalising.
match_normal_url = re.compile(rf"https?://[a-z0-9.-]*[a-z0-9-](?=/)(?!.*/\.)/[{PCHAR}/]*(?:\?[{PCHAR}/?]*)?").fullmatch
TO_ESCAPE = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{PCHAR}/?]")
# The character for each escape, in upper case.
ESCAPES = {f"%{byte:02X}": quote_from_bytes(bytes([byte]), safe="") for byte in range(256)}
MAX_LABEL = 63


def normalise(url: str) -> str:
    """Return the normal form of an http(s) URL, such as `https://pub.example/a?x=1`.

    It always has a path and a `?`, and never userinfo, a default port or a fragment.
    """
    if match_normal_url(url):
        return url if "?" in url else f"{url}?"
    parts = urlsplit(url)
    port = "" if parts.port in (None, DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    host = host_of_url(parts)
    path = normalised_path(parts.path)
    return f"{parts.scheme}://{host}{port}{path}?{normalise_escapes(parts.query)}"


def host_of_url(parts: SplitResult) -> str:
    """Return a URL's host in normal form.

    `parts.hostname` is in lower case by Python's rules, which change a sigma at the end of a word and browsers do not.
    """
    host = parts.netloc.rpartition("@")[2]
    if host.startswith("["):
        return normalised_host(host.partition("]")[0])
    return normalised_host(host.partition(":")[0])


def normalised_host(host: str) -> str:
    """Return a host in lower case and ASCII (IDNA, mapped as browsers do), without a final dot."""
    if ":" in host:
        try:
            return f"[{ip_address(host.strip('[]'))}]"
        except ValueError:
            return host.lower()
    name = unquote(host)
    try:
        name = map_name(name)
    except ValueError:  # a name that cannot be registered keeps its characters
        name = name.lower()
    return ".".join(map(ascii_label, name.removesuffix(".").split(".")))


def ascii_label(label: str) -> str:
    """Return one label of a name as DNS has it; percent-encoded if it is too long or not a valid label."""
    if label.isascii() or len(label) > MAX_LABEL:
        return quote(label, safe=SUB_DELIMITERS)
    return encode_label(label)


def normalised_path(path: str) -> str:
    """Return a URL path without dot segments (RFC 3986 §5.2.4); `/` if it is empty."""
    segments: list[str] = []
    *parents, last = normalise_escapes(path).removeprefix("/").split("/")
    for segment in parents:
        if segment == "..":
            del segments[-1:]
        elif segment != ".":
            segments.append(segment)
    if last == "..":
        del segments[-1:]
    return "/".join(["", *segments, "" if last in (".", "..") else last])


def normalise_escapes(part: str) -> str:
    """Return a path or query with unreserved characters decoded and everything else that needs it escaped, in upper
    case, including stray percent signs (RFC 3987 §3.1).
    """
    return TO_ESCAPE.sub(escape_one, part)


def escape_one(match: re.Match[str]) -> str:
    return ESCAPES.get(match[0].upper()) or quote(match[0], safe="")
