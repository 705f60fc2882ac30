"""Pages requested at the edge, found by a digest of their URL."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeVar

from licensing.visits.models import Page

BATCH = 500

PageName = tuple[str, str]  # account and URL

Item = TypeVar("Item")


def url_digest(url: str) -> bytes:
    return sha256(url.encode()).digest()[:16]


def keep_urls(sites: Mapping[PageName, str | None]) -> dict[PageName, int]:
    """Create the pages that are new and store the sites that are given. Returns the primary keys."""
    existing = {(page.account_id, page.url): page for page in stored_pages(sites)}
    changed = {
        key: site
        for key, site in sites.items()
        if key not in existing or (site is not None and existing[key].site_id != site)
    }  # fmt: skip
    Page.objects.bulk_create(
        [
            Page(account_id=account, digest=url_digest(url), url=url, site_id=site)
            for (account, url), site in sorted(changed.items(), key=lambda item: item[0])
        ],
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["account", "digest"],
        update_fields=["site"],
    )
    existing |= {(page.account_id, page.url): page for page in stored_pages(changed.keys() - existing.keys())}
    return {key: page.pk for key, page in existing.items()}


class StoredPage(NamedTuple):
    """A row of Page, which takes less time to make than a model object."""

    pk: int
    account_id: str
    url: str
    site_id: str | None


def stored_pages(pages: Collection[PageName]) -> Iterator[StoredPage]:
    """Return the rows of these pages as far as they exist."""
    for batch in batches(sorted(pages)):
        accounts = {account for account, _ in batch}
        digests = [url_digest(url) for _, url in batch]
        rows = Page.objects.filter(account__in=accounts, digest__in=digests)
        yield from map(StoredPage._make, rows.values_list(*StoredPage._fields))


def batches(values: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(values), BATCH):
        yield values[start : start + BATCH]
