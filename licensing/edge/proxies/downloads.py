"""Remembers the latest downloads of a site's proxy files, and says which of them would differ now.

A proxy does not ask about people on pages that its file calls open. So whoever restricts such a page has to get the
file again, whether the change was one of the site, of a policy or of an item.
"""

from datetime import datetime
from hashlib import blake2b

from django.db import transaction
from django.utils import timezone
from msgspec import Struct, convert, json, to_builtins

from kit.storage.sqlite_turns import turn_to_write
from licensing.edge.proxies.descriptions import Description, describe
from licensing.sites.models import Site


class Download(Struct, frozen=True):
    """The latest download of a site's file for one proxy. `digest` is that of what the file was made from."""

    at: datetime
    digest: str


def digest_of(site: Site, description: Description) -> str:
    """Return the digest of what the site's file is made from. Files of all proxies have the same."""
    return blake2b(json.encode([site.hosts, description]), digest_size=16).hexdigest()


def downloads_by_proxy(site: Site) -> dict[str, Download]:
    """Return the latest downloads by proxy (`nginx`, …)."""
    return convert(site.proxy_files or {}, dict[str, Download])


def note_download(site: Site, proxy: str, digest: str) -> None:
    """Remember the download of a file. The site's version stays, because nothing of the site has changed."""
    with turn_to_write(), transaction.atomic():
        stored = Site.objects.select_for_update(of=("self",)).get(pk=site.pk)
        downloads = {**downloads_by_proxy(stored), proxy: Download(timezone.now(), digest)}
        Site.objects.filter(pk=site.pk).update(proxy_files=to_builtins(downloads))


def outdated_downloads(site: Site, description: Description | None = None) -> dict[str, Download]:
    """Return the downloads, by proxy, whose file would differ now.

    Reads the site's items: call it outside transactions.
    """
    downloads = downloads_by_proxy(site)
    if not downloads:
        return {}
    digest = digest_of(site, description or describe(site))
    return {proxy: download for proxy, download in downloads.items() if download.digest != digest}


def is_outdated(site: Site) -> bool:
    """Whether a file that was downloaded would differ now."""
    return bool(outdated_downloads(site))
