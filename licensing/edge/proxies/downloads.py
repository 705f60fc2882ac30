"""Remembers the latest downloads of a site's proxy files, and says which of them would differ now.

A proxy does not ask about people on pages that its file calls open. So whoever restricts such a page has to get the
file again, whether the change was one of the site, of a policy or of an item. An upgrade can change files, too.
"""

from datetime import datetime

from django.utils import timezone
from msgspec import Struct, convert, to_builtins

from licensing.edge.proxies.files import proxy_file
from licensing.edge.proxies.page_access import Description, describe
from licensing.sites.models import Site

GET_IT_AGAIN = (
    "Download a changed file again if a proxy uses it, and reload the proxy. Until then the proxy works by the old "
    "one: it may not ask about people on pages that were open, and may keep these open while the service is down."
)


class Download(Struct, frozen=True):
    """The latest download of a site's file for one proxy. `digest` is the file's."""

    at: datetime
    digest: str


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
    description = description or describe(site)
    outdated = {}
    for proxy, download in downloads.items():
        if download.digest != proxy_file(site, proxy, description).digest:
            outdated[proxy] = download
    return outdated
