"""The crawler report: crawlers' requests, the answers to them, and the readers whom their operators sent."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from enum import StrEnum

from django.db.models import QuerySet, Sum
from msgspec import Struct
from msgspec.structs import replace

from analytics.archive.horizon import read_at_horizon
from analytics.events.partitions import first_decision_id
from analytics.models import LedgerEntry
from licensing.access.archived.queryset import HistoryQuerySet
from licensing.edge.crawlers import Crawler, Referrer
from licensing.edge.current_crawlers import current_table
from licensing.edge.observed import Sums, added_up, payers_among, price_denials
from licensing.sites.identification import Identification
from licensing.visits.figures import Visits
from licensing.visits.reading import Usage, VisitSelection
from licensing.visits.usage import sum_by_key

CENT = Decimal("0.01")
CHARGES = 10_000  # of removed decisions that are looked up together


class By(StrEnum):
    """The grouping of the time series."""

    CLASS = "class"
    OPERATOR = "operator"
    CRAWLER = "crawler"


class Taker(Struct, frozen=True):
    """Requests and revenue of a group of crawlers, and the readers that their operator sent."""

    crawls: Visits = Visits()
    referrals: int = 0
    revenue: Sums = {}
    at_stake: Sums = {}

    @property
    def crawls_per_referral(self) -> Decimal | None:
        """Requests for each reader that the operator sent, to two places; None without readers."""
        if not self.referrals:
            return None
        return (Decimal(self.crawls.total) / self.referrals).quantize(CENT, ROUND_HALF_EVEN)


class CrawlerReport(Struct, frozen=True):
    """`series` has the days with requests. `is_truncated`: revenue at stake covers only the newest denials."""

    summary: Taker
    series: list[tuple[date, str, Visits]]
    classes: list[tuple[str, Taker]]
    operators: list[tuple[str, Taker]]
    crawlers: list[tuple[Crawler, Taker]]
    referrers: list[tuple[str, Referrer | None, int]]  # host of the table, service, readers
    is_truncated: bool


def crawler_report(usage: Usage, by: By) -> CrawlerReport:
    selection = usage.selection
    crawlers = usage.crawlers
    table = current_table.get()
    by_day = crawls_by_day(usage)
    referrals = {host: visits.total for (host,), visits in usage.sums(selection.referrers, "referrer").items()}
    revenue = crawler_revenue(selection, crawlers)
    at_stake, is_truncated = revenue_at_stake(selection, crawlers)

    def grouped(name_crawler: Callable[[Crawler], str]) -> dict[str, Taker]:
        crawls = sum_by_key((name_crawler(crawlers[pk]), counts) for (_, pk), counts in by_day.items())
        paid = sums_by_name(revenue, name_crawler)
        stakes = sums_by_name(at_stake, name_crawler)
        return {name: Taker(counts, 0, paid.get(name, {}), stakes.get(name, {})) for name, counts in crawls.items()}

    operators = grouped(lambda crawler: crawler.operator)
    for host, number in referrals.items():
        if (service := table.by_referrer_host.get(host)) is not None:
            before = operators.get(service.operator, Taker())
            operators[service.operator] = replace(before, referrals=before.referrals + number)
    by_key = {crawler.key: crawler for crawler in crawlers.values()}
    names: dict[By, Callable[[Crawler], str]] = {
        By.CLASS: lambda crawler: crawler.crawler_class,
        By.OPERATOR: lambda crawler: crawler.operator,
        By.CRAWLER: lambda crawler: crawler.name,
    }
    series = sum_by_key(((day, names[by](crawlers[pk])), crawls) for (day, pk), crawls in by_day.items())
    return CrawlerReport(
        summary=Taker(
            sum(by_day.values(), Visits()),
            sum(referrals.values()),
            added_up(sums for _, sums in revenue),
            added_up(sums for _, sums in at_stake),
        ),
        series=[(day, name, crawls) for (day, name), crawls in sorted(series.items())],
        classes=most_first(grouped(lambda crawler: crawler.crawler_class)),
        operators=most_first(operators),
        crawlers=[(by_key[key], taker) for key, taker in most_first(grouped(lambda crawler: crawler.key))],
        referrers=[
            (host, table.by_referrer_host.get(host), number)
            for host, number in sorted(referrals.items(), key=lambda row: (-row[1], row[0]))
        ],
        is_truncated=is_truncated,
    )


def sums_by_name(sums: Iterable[tuple[Crawler, Sums]], name_crawler: Callable[[Crawler], str]) -> dict[str, Sums]:
    sums_of_group: defaultdict[str, list[Sums]] = defaultdict(list)
    for crawler, amounts in sums:
        sums_of_group[name_crawler(crawler)].append(amounts)
    return {name: added_up(amounts) for name, amounts in sums_of_group.items()}


def most_first(takers: Mapping[str, Taker]) -> list[tuple[str, Taker]]:
    return sorted(takers.items(), key=lambda row: (-row[1].crawls.total, -row[1].referrals, row[0]))


def crawls_by_day(usage: Usage) -> dict[tuple[date, int], Visits]:
    """Return the numbers of crawlers' requests by day and requester."""
    sums = usage.sums(usage.selection.visitors, "day", "requester", "identified_by", requesters=usage.crawlers)
    return sum_by_key(
        ((day, requester), replace(visits, verified=visits.total if Identification(identified_by).verifies else 0))
        for (day, requester, identified_by), visits in sums.items()
    )


def crawler_revenue(selection: VisitSelection, crawlers: Mapping[int, Crawler]) -> list[tuple[Crawler, Sums]]:
    """Return what crawlers paid or owe; for one site or folder, only what they were charged for its pages."""
    entries = LedgerEntry.objects.filter(
        account_id__in=selection.account_ids,
        requester_id__in=list(crawlers),
        occurred_at__gte=selection.window.start,
        occurred_at__lt=selection.window.end,
    )
    parts = [entries]
    if selection.site is not None or selection.prefix:
        parts = read_at_horizon(lambda horizon: charges_for(selection, entries, horizon))
    sums = (part.order_by().values_list("requester_id", "currency").annotate(Sum("amount")) for part in parts)
    return [(crawlers[pk], {currency: amount}) for part in sums for pk, currency, amount in part]


def charges_for(
    selection: VisitSelection, entries: QuerySet[LedgerEntry], horizon: datetime | None
) -> list[QuerySet[LedgerEntry]]:
    """Return the entries that name a decision of the selection, in parts."""
    parts = [entries.filter(decision__in=selection.events(horizon).order_by().values("pk"))]
    if horizon is not None and horizon > selection.window.start:
        events = HistoryQuerySet.covering(selection.events())
        older = (
            entries.order_by().filter(decision__lt=first_decision_id(horizon)).values_list("decision_id", flat=True)
        )
        ids = sorted(set(older))
        for first in range(0, len(ids), CHARGES):
            if archived := events.archived_among(ids[first : first + CHARGES], horizon):
                parts.append(entries.filter(decision__in=archived))
    return parts


def revenue_at_stake(
    selection: VisitSelection, crawlers: Mapping[int, Crawler]
) -> tuple[list[tuple[Crawler, Sums]], bool]:
    """Return the prices of observed denials of crawlers that could pay, and whether only the newest were priced."""
    payers = payers_among(list(crawlers))
    denials = HistoryQuerySet.covering(selection.events()).filter(observed__gt="", requester_id__in=payers)
    prices = price_denials(denials)
    crawler_of_requester = current_table.get().by_requester
    return [(crawler_of_requester[name], sums) for name, sums in prices.by_requester.items()], prices.has_more
