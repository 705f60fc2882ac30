"""Finding an item by its URL, which is all that a CDN edge knows.

Equivalent URLs name one item, so that a denial cannot be walked round by another spelling of the page.
"""

from hashlib import blake2b

from kit.values.urls import normalised


def source_key(url: str | None) -> bytes | None:
    """A digest of the normal form of an http(s) URL. None for no URL."""
    return None if url is None else blake2b(normalised(url).encode(), digest_size=16).digest()
