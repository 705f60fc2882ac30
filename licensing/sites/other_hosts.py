"""Hosts without a site: whether their pages are refused, and the item that their visits are recorded under."""

from collections import Counter
from datetime import timedelta
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Subquery
from django.db.models.fields.json import KT
from django.utils import timezone

from accounts.models import Account, Unknown
from analytics.models import AccessEvent
from kit.storage.sqlite_turns import turn_to_write
from licensing.content.models import Content
from licensing.sites.lookup import find_sites
from licensing.sites.models import OtherHosts

TITLE = "Pages of other hosts"
RECENT = timedelta(days=30)
MAX_VISITS = 5_000  # to read
MAX_HOSTS = 100  # to name


def are_refused(account_id: str) -> bool:
    """Whether the account refuses pages of hosts without a site. Otherwise their visits are only observed."""
    return Account.objects.filter(pk=account_id, unknown_host=Unknown.DENY).exists()


def other_hosts_item_id(account_id: str) -> str | None:
    """Return the id of the item that visits are recorded under; None before the first visit."""
    return OtherHosts.objects.filter(account_id=account_id).values_list("pages_id", flat=True).first()


def recent_hosts(account_id: str) -> list[str]:
    """Return the hosts without a site that visitors asked for recently, those with most of MAX_VISITS visits first."""
    pages = OtherHosts.objects.filter(account_id=account_id).values("pages_id")[:1]
    visits = AccessEvent.objects.filter(
        account_id=account_id, content_id=Subquery(pages), created__gte=timezone.now() - RECENT
    )
    urls = visits.order_by("-created").values_list(KT("facts__url"), flat=True)[:MAX_VISITS]
    visited = Counter(host for url in urls if url and (host := urlsplit(url).hostname))
    names = sorted(visited, key=lambda host: (-visited[host], host))
    covered = find_sites(account_id, names)
    return [host for host in names if host not in covered][:MAX_HOSTS]


def keep_pages(account_id: str) -> None:
    """Create the item for visits, unless it exists or the account does not."""
    with turn_to_write(), transaction.atomic():
        account = Account.objects.select_for_update(no_key=True).filter(pk=account_id).first()
        if account is None or other_hosts_item_id(account_id) is not None:
            return
        now = timezone.now()
        # Deleted, so that no list of content shows it.
        pages = Content.objects.create(account=account, title=TITLE, created=now, updated=now, deleted_at=now)
        OtherHosts.objects.create(account=account, pages=pages)
