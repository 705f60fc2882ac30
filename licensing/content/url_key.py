"""Finding an item by its URL, which is all that a CDN edge knows."""

from hashlib import blake2b
from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}


def source_key(url: str | None) -> bytes | None:
    """A digest of what the URL names (RFC 3986 §6.2): the case of scheme and host, a default port, an empty path and
    the fragment make no difference; path and query do. None for no URL."""
    if url is None:
        return None
    parts = urlsplit(url)
    port = "" if parts.port in (None, DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    named = f"{parts.scheme}://{parts.hostname}{port}{parts.path or '/'}?{parts.query}"
    return blake2b(named.encode(), digest_size=16).digest()
