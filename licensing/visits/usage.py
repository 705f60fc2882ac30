"""Usage at the edge: counting decisions by visitor, page and referrer, and adding the counts to EdgeUsage."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date
from functools import lru_cache
from typing import NamedTuple, TypeVar

from django.db.models import Case, Count, Max, Q, QuerySet, TextField, Value, When
from django.db.models.fields.json import KT
from django.db.models.functions import Concat, Left, Substr, TruncDate
from django.db.models.lookups import Exact
from msgspec.structs import replace

from analytics.models import AccessEvent
from kit.storage.adding import add_numbers
from kit.values import ids
from licensing.edge.crawlers import Crawler
from licensing.edge.current_crawlers import current_table
from licensing.requesters.models import Requester
from licensing.sites.models import Site
from licensing.visits.figures import Visits
from licensing.visits.models import EdgeUsage, Kind
from licensing.visits.pages import PageName, batches, keep_urls, url_digest
from licensing.visits.robots_parser import RobotsTxt

MAX_PAGES = 20_000  # of an account that are counted one by one on a day; strangers can invent addresses
FURTHER_PAGES = ""  # the URL that all others count under

parsed_robots = lru_cache(maxsize=100)(RobotsTxt)
Key = TypeVar("Key")

# Annotations that count decisions in the order of the first fields of Visits.
COUNTS = {
    "allowed_count": Count("pk", filter=Q(allowed=True, observed=None)),
    "observed_count": Count("pk", filter=Q(observed__isnull=False)),
    "denied_count": Count("pk", filter=Q(allowed=False)),
    "last": Max("created"),
}
# The page of a decision. Earlier versions recorded http, too.
PAGE_URL = Case(
    When(
        Exact(Left(KT("facts__url"), len("http:")), "http:"),
        then=Concat(Value("https:"), Substr(KT("facts__url"), len("http:") + 1)),
    ),
    default=KT("facts__url"),
    output_field=TextField(),
)


class UsageKey(NamedTuple):
    """The key of a row of EdgeUsage, with the URL of its page. `requester` is a primary key."""

    account: str
    kind: Kind
    day: date
    url: str = ""
    requester: int = 0
    identified_by: str = ""
    referrer: str = ""


class Group(NamedTuple):
    """Visits of one visitor to one page on a day. `referrer` is the host of a Referer."""

    account: str
    day: date
    requester: int
    identified_by: str
    url: str | None
    referrer: str | None
    site: str | None
    visits: Visits


def add_visits(counts: dict[Key, Visits], key: Key, visits: Visits) -> None:
    before = counts.get(key)
    counts[key] = visits if before is None else before + visits


def sum_by_key(parts: Iterable[tuple[Key, Visits]]) -> dict[Key, Visits]:
    counts: dict[Key, Visits] = {}
    for key, visits in parts:
        add_visits(counts, key, visits)
    return counts


def groups_in(events: QuerySet[AccessEvent]) -> list[Group]:
    """Group decisions at the edge, by one scan."""
    rows = (
        events.order_by()
        .values_list(
            "account_id",
            TruncDate("created", tzinfo=UTC),
            "requester_id",
            KT("facts__identifiedBy"),
            PAGE_URL,
            KT("facts__referrer"),
        )
        .annotate(site=Max(KT("facts__siteId")), **COUNTS)
    )
    return [
        Group(account, day, requester, identified_by, url, referrer, site, Visits(*counts))
        for account, day, requester, identified_by, url, referrer, site, *counts in rows
    ]


class RobotsRules:
    """The robots.txt of some sites, and the crawlers among some requesters (by primary key)."""

    def __init__(self, sites: Collection[str], requesters: Iterable[int]) -> None:
        with_text = Site.objects.filter(pk__in=sites, robots_txt__isnull=False)
        self.texts = dict(with_text.values_list("pk", "robots_txt")) if sites else {}
        self.crawlers: dict[int, Crawler] = {}
        if self.texts:
            known = current_table.get().by_requester
            rows = Requester.objects.filter(pk__in=set(requesters), requester_id__in=list(known))
            self.crawlers = {pk: known[name] for pk, name in rows.values_list("pk", "requester_id")}

    def forbid(self, site: str | None, requester: int, url: str) -> bool:
        """Whether the site's robots.txt disallows the page for this crawler. False for people."""
        text = self.texts.get(site or "")
        crawler = self.crawlers.get(requester)
        if not text or crawler is None:
            return False
        return not parsed_robots(text).allows(url, crawler.product_token or crawler.user_agent or crawler.name)


def tally(groups: Sequence[Group]) -> tuple[dict[UsageKey, Visits], dict[PageName, str]]:
    """Return the visits by each kind of key, and the sites that decided about the pages."""
    decided_by = {group.site for group in groups if group.site is not None and ids.decode("site", group.site)}
    rules = RobotsRules(decided_by, (group.requester for group in groups))
    referrers = {group.referrer for group in groups if group.referrer is not None}
    hosts = {referrer: current_table.get().referring(referrer) for referrer in referrers}
    usage: dict[UsageKey, Visits] = {}
    sites: dict[PageName, str] = {}
    for account, day, requester, identified_by, url, referrer, site, answers in groups:
        visits = answers
        if url is not None and site in decided_by:
            sites[account, url] = max(site, sites.get((account, url), ""))
            if rules.forbid(site, requester, url):
                visits = replace(answers, violations=answers.total)
        host = None if referrer is None else hosts[referrer]
        add_visits(usage, UsageKey(account, Kind.VISITOR, day, "", requester, identified_by), visits)
        if host is not None:
            add_visits(usage, UsageKey(account, Kind.REFERRER, day, referrer=host), visits)
        if url is not None:
            add_visits(usage, UsageKey(account, Kind.VISITOR_OF_PAGE, day, url, requester, identified_by), visits)
            if host is not None:
                add_visits(usage, UsageKey(account, Kind.REFERRER_OF_PAGE, day, url, referrer=host), visits)
    return usage, sites


def store(usage: dict[UsageKey, Visits], sites: Mapping[PageName, str]) -> None:
    """Add the counts to EdgeUsage. The caller must hold the lock of the counted visits."""
    usage = without_further(usage)
    pages = {(key.account, key.url) for key in usage if key.kind.has_page}
    add_usage(usage, keep_urls({page: sites.get(page) for page in pages}))


def add_usage(usage: Mapping[UsageKey, Visits], pages: Mapping[PageName, int]) -> None:
    """Add the counts to rows; `pages` has the primary keys of their pages."""
    rows = []
    for key, visits in usage.items():
        page = pages[key.account, key.url] if key.kind.has_page else 0
        counts = (visits.allowed, visits.observed, visits.denied, visits.violations, visits.last_seen)
        rows.append((key.account, key.kind, key.day, page, key.requester, key.identified_by, key.referrer, *counts))
    add_numbers(
        EdgeUsage,
        ("account", "kind", "day", "page", "requester", "identified_by", "referrer"),
        ("allowed", "observed", "denied", "violations"),
        sorted(rows),
        latest="last_seen",
    )


def without_further(usage: dict[UsageKey, Visits]) -> dict[UsageKey, Visits]:
    """Merge the pages beyond MAX_PAGES of a day into one."""
    urls: defaultdict[tuple[str, date], set[str]] = defaultdict(set)
    for key in usage:
        if key.kind == Kind.VISITOR_OF_PAGE:
            urls[key.account, key.day].add(key.url)
    all_counted = {(account, day): counted_urls(account, day, requested) for (account, day), requested in urls.items()}
    counted_by_day = {key: counted for key, counted in all_counted.items() if counted is not None}
    if not counted_by_day:
        return usage

    def counted_key(key: UsageKey) -> UsageKey:
        urls = counted_by_day.get((key.account, key.day))
        is_further = key.kind.has_page and urls is not None and key.url not in urls
        return key._replace(url=FURTHER_PAGES) if is_further else key

    return sum_by_key((counted_key(key), visits) for key, visits in usage.items())


def counted_urls(account: str, day: date, urls: set[str]) -> set[str] | None:
    """Return which of these pages are counted one by one on a day; None for all."""
    rows = EdgeUsage.objects.filter(account=account, kind=Kind.VISITOR_OF_PAGE, day=day)
    number = rows.values("page").distinct().count()
    if number + len(urls) <= MAX_PAGES:
        return None
    existing: set[str] = set()
    for batch in batches(sorted(urls)):
        existing.update(rows.filter(page__digest__in=map(url_digest, batch)).values_list("page__url", flat=True))
    return existing | set(sorted(urls - existing)[: max(MAX_PAGES - number, 0)])
