"""Counts visits by page and visitor, from the same decisions and in the same transaction as visits by visitor."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date
from hashlib import sha256
from operator import itemgetter
from typing import NamedTuple, TypeGuard, TypeVar

from django.db.models import Case, Count, Max, QuerySet, TextField, Value, When
from django.db.models.fields.json import KT
from django.db.models.functions import Concat, Left, Substr, TruncDate
from django.db.models.lookups import Exact
from msgspec import Struct
from msgspec.structs import replace

from analytics.models import AccessEvent
from kit.storage.adding import add_numbers
from kit.values import ids
from licensing.edge.current_crawlers import current_table
from licensing.visits.figures import COUNTS, NUMBERS, Visits
from licensing.visits.models import Page, PageDay, ReferralDay
from licensing.visits.robots import RobotsRules

MOST_PAGES = 20_000  # of an account that are counted one by one on a day; strangers can invent addresses
FURTHER = ""  # the URL that all others count under
BATCH = 500

PageName = tuple[str, str]  # account and URL

Item = TypeVar("Item")

# The page of a decision. Earlier versions recorded http, too.
PAGE_URL = Case(
    When(
        Exact(Left(KT("facts__url"), len("http:")), "http:"),
        then=Concat(Value("https:"), Substr(KT("facts__url"), len("http:") + 1)),
    ),
    default=KT("facts__url"),
    output_field=TextField(),
)


class VisitKey(Struct, frozen=True, order=True):
    """The page and the visitor that decisions of a day are about. `requester` is a primary key."""

    account: str
    day: date
    url: str
    requester: int
    identified_by: str


class Found(Struct, frozen=True):
    """Visits of a page by a visitor. `violations` of them are disallowed by the site's robots.txt."""

    visits: Visits
    site: str | None
    violations: int = 0

    def __add__(self, other: "Found") -> "Found":
        return Found(self.visits + other.visits, None, self.violations + other.violations)


class Referred(Struct, frozen=True, order=True):
    """The page to which a service sent readers on a day. `host` is one of the table of referrers."""

    account: str
    day: date
    url: str
    host: str


Referrer = tuple[str, date, str, str]  # account, day, URL of the page, and of the referrer


def page_visits_in(events: QuerySet[AccessEvent]) -> dict[VisitKey, Found]:
    rows = (
        events.filter(facts__has_key="url")
        .order_by()
        .values_list(
            "account_id", TruncDate("created", tzinfo=UTC), PAGE_URL, "requester_id", KT("facts__identifiedBy")
        )
        .annotate(**COUNTS, site=Max(KT("facts__siteId")))
    )
    return with_violations({VisitKey(*row[:5]): Found(Visits(*row[5:9]), row[9]) for row in rows})


def with_violations(found: dict[VisitKey, Found]) -> dict[VisitKey, Found]:
    rules = RobotsRules({one.site for one in found.values() if is_site(one.site)}, (key.requester for key in found))
    if not rules.texts:
        return found
    return {
        key: replace(one, violations=one.visits.total) if rules.forbid(one.site, key.requester, key.url) else one
        for key, one in found.items()
    }


def is_site(text: str | None) -> TypeGuard[str]:
    return text is not None and ids.decode("site", text) is not None


def referrals_in(events: QuerySet[AccessEvent]) -> dict[Referred, int]:
    """Return how many readers each service of the table of referrers sent to each page."""
    rows = (
        events.filter(facts__has_key="referrer")
        .order_by()
        .values_list("account_id", TruncDate("created", tzinfo=UTC), PAGE_URL, KT("facts__referrer"))
        .annotate(number=Count("pk"))
    )
    return referred_by((row[:4], row[4]) for row in rows)


def referred_by(referrers: Iterable[tuple[Referrer, int]]) -> dict[Referred, int]:
    """Return the numbers of readers by service, from those by referrer."""
    table, found = current_table.get(), Counter[Referred]()
    for (account, day, url, referrer), number in referrers:
        host = table.referring(referrer)
        if host is not None:
            found[Referred(account, day, url, host)] += number
    return dict(found)


def digest_of(url: str) -> bytes:
    return sha256(url.encode()).digest()[:16]


def keep_pages(found: dict[VisitKey, Found], referrals: dict[Referred, int]) -> None:
    """Add the counts to the rows of PageDay and ReferralDay. The caller must hold the lock of the counted visits."""
    if not found:
        return
    found, referrals = without_further(found, referrals)
    sites: dict[PageName, str | None] = {}
    for key, one in found.items():
        site = one.site if is_site(one.site) else None
        sites[key.account, key.url] = site or sites.get((key.account, key.url))
    pages = keep_urls(sites)
    add_visits(found, pages)
    add_referrals(referrals, pages)


def add_visits(found: dict[VisitKey, Found], pages: dict[PageName, int]) -> None:
    add_numbers(
        PageDay,
        ("account", "day", "page", "requester", "identified_by"),
        (*NUMBERS, "violations"),
        [
            (
                *(key.account, key.day, pages[key.account, key.url], key.requester, key.identified_by),
                *(one.visits.allowed, one.visits.observed, one.visits.denied, one.violations, one.visits.last_seen),
            )
            for key, one in sorted(found.items(), key=itemgetter(0))
        ],
        latest="last_seen",
    )


def add_referrals(referrals: dict[Referred, int], pages: dict[PageName, int]) -> None:
    add_numbers(
        ReferralDay,
        ("account", "day", "page", "host"),
        ("referrals",),
        [
            (key.account, key.day, pages[key.account, key.url], key.host, number)
            for key, number in sorted(referrals.items())
        ],
    )


def without_further(
    found: dict[VisitKey, Found], referrals: dict[Referred, int]
) -> tuple[dict[VisitKey, Found], dict[Referred, int]]:
    """Merge the pages beyond MOST_PAGES of a day into one."""
    asked: dict[tuple[str, date], set[str]] = defaultdict(set)
    for one in found:
        asked[one.account, one.day].add(one.url)
    kept: dict[tuple[str, date], set[str]] = {}
    for (account, day), urls in asked.items():
        counted = PageDay.objects.filter(account=account, day=day)
        number = counted.values("page").distinct().count()
        if number + len(urls) <= MOST_PAGES:
            continue
        there = {
            url
            for some in batches(sorted(urls))
            for url in counted.filter(page__digest__in=map(digest_of, some)).values_list("page__url", flat=True)
        }
        new = sorted(urls - there)[: max(MOST_PAGES - number, 0)]
        kept[account, day] = there | set(new)
    if not kept:
        return found, referrals

    def is_kept(one: VisitKey | Referred) -> bool:
        return (one.account, one.day) not in kept or one.url in kept[one.account, one.day]

    result: dict[VisitKey, Found] = {}
    for key, visited in found.items():
        named = key if is_kept(key) else replace(key, url=FURTHER)
        before = result.get(named)
        result[named] = visited if before is None else before + visited
    merged = Counter[Referred]()
    for referred, number in referrals.items():
        merged[referred if is_kept(referred) else replace(referred, url=FURTHER)] += number
    return result, dict(merged)


def keep_urls(sites: Mapping[PageName, str | None]) -> dict[PageName, int]:
    """Create the pages that are new and store the sites that are given. Returns the primary keys."""
    there = {(page.account_id, page.url): page for page in stored_pages(sites)}
    changed = {
        key: site
        for key, site in sites.items()
        if key not in there or (site is not None and there[key].site_id != site)
    }  # fmt: skip
    Page.objects.bulk_create(
        [
            Page(account_id=account, digest=digest_of(url), url=url, site_id=site)
            for (account, url), site in sorted(changed.items(), key=lambda item: item[0])
        ],
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["account", "digest"],
        update_fields=["site"],
    )
    there |= {(page.account_id, page.url): page for page in stored_pages(changed.keys() - there.keys())}
    return {key: page.pk for key, page in there.items()}


class StoredPage(NamedTuple):
    """A row of Page, which takes less time to make than a model object."""

    pk: int
    account_id: str
    url: str
    site_id: str | None


def stored_pages(pages: Collection[PageName]) -> Iterator[StoredPage]:
    """Return the rows of these pages as far as they exist."""
    for some in batches(sorted(pages)):
        accounts, digests = {account for account, _ in some}, [digest_of(url) for _, url in some]
        rows = Page.objects.filter(account__in=accounts, digest__in=digests)
        yield from map(StoredPage._make, rows.values_list(*StoredPage._fields))


def batches(values: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(values), BATCH):
        yield values[start : start + BATCH]
