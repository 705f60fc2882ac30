"""Finding an item by its URL, which is all that a CDN edge knows.

Equivalent URLs name one item, so that a denial cannot be walked round by another spelling of the page.
"""

from hashlib import blake2b

from django.conf import settings

from kit.values.urls import normalised


def source_key(url: str | None) -> bytes | None:
    """A digest of the normal form of an http(s) URL, and of what SAME_PAGE makes of that. None for no URL."""
    if url is None:
        return None
    form = normalised(url)
    if settings.SAME_PAGE is not None:
        form = settings.SAME_PAGE.form(form)
    return blake2b(form.encode(), digest_size=16).digest()
