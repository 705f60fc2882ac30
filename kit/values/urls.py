"""The normal form of an http(s) URL: one for all spellings that RFC 3986 §6.2.2 and §6.2.3 call equivalent.

Scheme, path (its case and empty segments included) and query tell URLs apart.
"""

import re
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import quote, quote_from_bytes, unquote, urlsplit

import idna

URL_SCHEMA: dict[str, object] = {
    "type": "string",
    "format": "uri",
    "pattern": r"^[Hh][Tt][Tt][Pp][Ss]?://[^\s/?#]+\S*$",
}
DEFAULT_PORTS = {"http": 80, "https": 443}
UNRESERVED = r"A-Za-z0-9._~\-"
SUB_DELIMITERS = "!$&'()*+,;="
PCHAR = f"{UNRESERVED}{SUB_DELIMITERS}:@"

# Most URLs are written in their normal form: telling that is several times as fast as bringing them to it.
IS_NORMAL = re.compile(rf"https?://[a-z0-9.-]*[a-z0-9-](?!.*/\.)/[{PCHAR}/]*(?:\?[{PCHAR}/?]*)?").fullmatch
TO_BE_SPELLED = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{PCHAR}/?]")
# What each escape, in upper case, stands for.
ESCAPES = {f"%{byte:02X}": quote_from_bytes(bytes([byte]), safe="") for byte in range(256)}
MAX_LABEL = 63


def normalised(url: str) -> str:
    """The one spelling of an http(s) URL that stands for all equivalent ones, such as `https://pub.example/a?x=1`:
    always with a path and a `?`, never with userinfo, a default port or a fragment."""
    if IS_NORMAL(url):
        return url if "?" in url else f"{url}?"
    parts = urlsplit(url)
    port = "" if parts.port in (None, DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    host, path = normalised_host(parts.hostname or ""), normalised_path(parts.path)
    return f"{parts.scheme}://{host}{port}{path}?{spelled(parts.query)}"


def normalised_host(host: str) -> str:
    """A host without its port in lower case, a name in ASCII (IDNA, mapped as browsers do) and without a final dot."""
    if ":" in host:
        try:
            return f"[{ip_address(host.strip('[]'))}]"
        except ValueError:
            return host.lower()
    name = unquote(host).lower()
    if not name.isascii():
        with suppress(idna.IDNAError):  # a name that cannot be registered stands for itself
            name = idna.uts46_remap(name, std3_rules=False)
    return ".".join(map(ascii_label, name.removesuffix(".").split(".")))


def ascii_label(label: str) -> str:
    """A label of a name as DNS has it; what cannot be one (encoding which would take long) is percent-encoded."""
    if label.isascii() or len(label) > MAX_LABEL:
        return quote(label, safe=SUB_DELIMITERS)
    return f"xn--{label.encode('punycode').decode()}"


def normalised_path(path: str) -> str:
    """The path of a URL, without dot segments (RFC 3986 §5.2.4); `/` for an empty one."""
    kept: list[str] = []
    *parents, last = spelled(path).removeprefix("/").split("/")
    for segment in parents:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if last == "..":
        del kept[-1:]
    return "/".join(["", *kept, "" if last in (".", "..") else last])


def spelled(part: str) -> str:
    """A path or query with unreserved characters as themselves, and escapes, in upper case, of whatever has no place
    in it, the percent sign of no escape included (RFC 3987 §3.1)."""
    return TO_BE_SPELLED.sub(one_spelled, part)


def one_spelled(found: re.Match[str]) -> str:
    return ESCAPES.get(found[0].upper()) or quote(found[0], safe="")
