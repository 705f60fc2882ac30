"""The page that a visitor asks for, by its URL."""

from urllib.parse import quote, urlsplit

from msgspec import Struct

from kit.values.hosts import host_of_header
from licensing.content.url_key import source_key
from licensing.sites.patterns import PATH_CHARACTERS, normalize_path


class Page(Struct, frozen=True):
    """`keys` are those under which an item may be registered for it, the most exact first."""

    host: str
    path: str  # in normal form
    keys: tuple[bytes, ...]

    @classmethod
    def of(cls, url: str) -> "Page":
        """Of an absolute http(s) URL.

        An item is found without the query too, by http as by https, and under a path that only an origin reads as its
        own: nothing that a visitor adds to an address makes another page of it.
        """
        parts = urlsplit(url)
        path = normalize_path(parts.path)
        other = "http" if parts.scheme == "https" else "https"
        paths = [parts.path, quote(path, safe=PATH_CHARACTERS)]
        spelled = [f"{parts.path}?{parts.query}"] if parts.query else []
        keys = [
            source_key(f"{scheme}://{parts.netloc}{one}") or b""
            for one in [*spelled, *paths]
            for scheme in (parts.scheme, other)
        ]
        return cls(host_of_header(parts.netloc) or "", path, tuple(dict.fromkeys(keys)))
