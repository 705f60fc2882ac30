"""Remembers the latest download of a site's proxy file, and says whether the file would differ now.

A proxy does not ask about people on pages that its file calls open. So whoever restricts such a page has to get the
file again, whether the change was one of the site, of a policy or of an item.
"""

from hashlib import blake2b

from django.utils import timezone
from msgspec import json

from licensing.edge.proxies.descriptions import Description, describe
from licensing.sites.models import Site


def digest_of(site: Site, description: Description) -> str:
    """Return the digest of what the site's file is made from. Files of all proxies have the same."""
    return blake2b(json.encode([site.hosts, description]), digest_size=16).hexdigest()


def note_download(site: Site, digest: str) -> None:
    """Remember the download of a file. The site's version stays, because nothing of the site has changed."""
    Site.objects.filter(pk=site.pk).update(proxy_file_at=timezone.now(), proxy_file_digest=digest)


def is_outdated(site: Site, description: Description | None = None) -> bool:
    """Whether the file would differ from the one that was last downloaded; False if none was.

    Reads the site's items: call it outside transactions.
    """
    if site.proxy_file_digest is None:
        return False
    return digest_of(site, description or describe(site)) != site.proxy_file_digest
