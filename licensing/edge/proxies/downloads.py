"""Remembers the latest downloads of a site's proxy files, and says which of them would differ now.

A proxy does not ask about people on pages that its file calls open. So whoever restricts such a page has to get the
file again, whether the change was one of the site, of a policy or of an item.
"""

from datetime import datetime
from hashlib import blake2b

from django.utils import timezone
from msgspec import Struct, convert, json, to_builtins

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
    """Remember the download of a file. The site's version stays, because nothing of the site has changed.

    Two downloads at once are both remembered: one that finds others than it has read reads them again.
    """
    rows = Site.objects.filter(pk=site.pk)
    files = site.proxy_files
    while True:
        unchanged = rows.filter(proxy_files__isnull=True) if files is None else rows.filter(proxy_files=files)
        downloads = {**(files or {}), proxy: to_builtins(Download(timezone.now(), digest))}
        if unchanged.update(proxy_files=downloads):
            return
        stored = rows.values_list("proxy_files").first()
        if stored is None:  # the site was deleted meanwhile
            return
        [files] = stored


def outdated_downloads(site: Site, description: Description | None = None) -> dict[str, Download]:
    """Return the downloads, by proxy, whose file would differ now.

    Reads the site's items: call it outside transactions.
    """
    downloads = downloads_by_proxy(site)
    if not downloads:
        return {}
    digest = digest_of(site, description or describe(site))
    return {proxy: download for proxy, download in downloads.items() if download.digest != digest}
