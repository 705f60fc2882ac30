"""Observed denials: what would have been refused, by reason, requester and item."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, QuerySet

from analytics.models import AccessEvent
from kit.values.decimals import from_millionths, render_amount
from kit.values.timestamps import render_timestamp
from licensing.access.recorded_decisions import recorded_answers
from licensing.policies.offers import offers
from licensing.sites.models import Site

TOP = 10
MOST_PRICED = 10_000  # newest denials whose prices are computed one by one
Sums = dict[str, Decimal]  # by currency


@dataclass
class ObservedFigures:
    """The report's numbers. Revenue is computed from the newest `priced` of `total` denials."""

    total: int
    priced: int
    reasons: list[tuple[str, int]]
    requesters: list[Mapping[str, Any]]
    items: list[Mapping[str, Any]]
    at_stake: Sums = field(default_factory=dict)
    by_requester: dict[str, Sums] = field(default_factory=dict)


def observed_denials(account_id: str, start: datetime, end: datetime, site: Site | None) -> QuerySet[AccessEvent]:
    """Return the observed denials from `start` until before `end`, optionally only for the site's pages."""
    events = AccessEvent.objects.filter(account_id=account_id, created__gte=start, created__lt=end, observed__gt="")
    return events if site is None else events.filter(content_id=site.pages_id)


def observed_report(events: QuerySet[AccessEvent], most_priced: int = MOST_PRICED) -> ObservedFigures:
    """Compute the report. Prices are computed only for the newest `most_priced` denials."""
    reasons = events.order_by().values_list("observed").annotate(count=Count("pk")).order_by("-count", "observed")
    told = [(reason, count) for reason, count in reasons if reason]
    if not told:
        return ObservedFigures(0, 0, [], [], [])
    requesters = events.order_by().values("requester__requester_id", "requester__name").annotate(count=Count("pk"))
    items = events.order_by().values("content_id", "content__title").annotate(count=Count("pk"))
    report = ObservedFigures(
        total=sum(count for _, count in told),
        priced=0,
        reasons=told,
        requesters=list(requesters.order_by("-count", "requester__requester_id")[:TOP]),
        items=list(items.order_by("-count", "content_id")[:TOP]),
    )
    add_prices(report, events, most_priced)
    return report


def add_prices(report: ObservedFigures, events: QuerySet[AccessEvent], most: int) -> None:
    """Add the revenue at stake: for each denial the price of its first offer."""
    report.by_requester, report.priced = prices_of(events, most)
    report.at_stake = added_up(report.by_requester.values())


def prices_of(events: QuerySet[AccessEvent], most: int) -> tuple[dict[str, Sums], int]:
    """Return the prices of the first offers of the newest `most` denials by requester, and how many were priced."""
    found: defaultdict[str, defaultdict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    priced = 0
    newest = events.select_related("requester").order_by("-created", "-id")[:most]
    for answer in recorded_answers(newest.iterator(chunk_size=500)):
        priced += 1
        offer = next(offers(answer.policy, answer.facts), None)
        if offer is not None:
            found[answer.requester_id][offer.price.currency] += from_millionths(offer.price.amount)
    return {requester: dict(sums) for requester, sums in found.items()}, priced


def added_up(several: Iterable[Sums]) -> Sums:
    found: defaultdict[str, Decimal] = defaultdict(Decimal)
    for sums in several:
        for currency, amount in sums.items():
            found[currency] += amount
    return dict(found)


def present_observed(report: ObservedFigures, start: datetime, last: datetime, site: Site | None) -> dict[str, Any]:
    """Return the observed_report object. `last` is the last moment of the period."""
    return {
        "object": "observed_report",
        "siteId": site.pk if site else None,
        "startDate": render_timestamp(start),
        "endDate": render_timestamp(last),
        "total": report.total,
        "truncated": report.priced < report.total,
        "byReason": [{"reason": reason, "count": count} for reason, count in report.reasons],
        "byRequester": [
            {
                "id": row["requester__requester_id"],
                "name": row["requester__name"],
                "requests": row["count"],
                "revenueAtStake": shown(report.by_requester.get(row["requester__requester_id"], {})),
            }
            for row in report.requesters
        ],
        "byContent": [
            {"id": row["content_id"], "title": row["content__title"], "requests": row["count"]} for row in report.items
        ],
        "revenueAtStake": shown(report.at_stake),
    }


def shown(sums: Sums) -> list[dict[str, Any]]:
    return [{"amount": render_amount(amount), "currency": currency} for currency, amount in sorted(sums.items())]
