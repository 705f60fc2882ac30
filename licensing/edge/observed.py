"""Observed denials: what would have been refused, by reason, requester and item.

Revenue is at stake where the requester could pay. Visitors who prove nothing cannot, nor signers whom the account does
not admit.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import Model, Q
from django.db.models.fields.json import KT
from django.db.models.lookups import Exact

from accounts.plans.models import UnlistedSigners
from analytics.models import AccessEvent
from kit.values.decimals import from_millionths, render_amount
from licensing.access.archived.queryset import ORDER_BY_TIME, HistoryQuerySet
from licensing.access.recorded_decisions import equal_questions
from licensing.content.models import Content
from licensing.edge.crawlers import has_signs
from licensing.edge.visitors import AGENT, ANONYMOUS, UNVERIFIED
from licensing.policies.offers import price_at_stake
from licensing.requesters.models import Requester
from licensing.sites.models import Site

Row = Mapping[str, Any]  # its `count`, and fields of a requester or an item
TOP = 10
MAX_PRICED = 10_000  # newest denials of payers, which are read one by one
PRICED_BY = ("requester_id", "policy_id", "policy_version", "permission", "created", "facts")
Sums = dict[str, Decimal]  # by currency
BROWSERS = "browsers"
PROGRAMS = "other programs"


@dataclass
class ObservedFigures:
    """The report's numbers. Revenue is computed from the newest `priced` of `payable` denials."""

    total: int
    payable: int
    priced: int
    reasons: list[tuple[str, int]]
    requesters: list[Row]
    items: list[Row]
    at_stake: Sums = field(default_factory=dict)
    by_requester: dict[str, Sums] = field(default_factory=dict)


def observed_denials(account_id: str, start: datetime, end: datetime, site: Site | None) -> HistoryQuerySet:
    """Return the observed denials from `start` until before `end`, optionally only for the site's pages.

    Pages that are registered as items are the site's, too.
    """
    events = AccessEvent.objects.filter(account_id=account_id, created__gte=start, created__lt=end, observed__gt="")
    if site is not None:
        events = events.filter(Exact(KT("facts__siteId"), site.pk))
    return HistoryQuerySet.covering(events)


def observed_report(events: HistoryQuerySet) -> ObservedFigures:
    """Compute the report. Prices are computed only for the newest MAX_PRICED denials of those who could pay."""
    reasons, requesters, items = events.tally("observed"), events.tally("requester_id"), events.tally("content_id")
    if not reasons:
        return ObservedFigures(0, 0, 0, [], [], [])
    payers = payers_among([key for key in requesters if isinstance(key, int)])
    prices = price_denials(events.filter(requester_id__in=payers))
    return ObservedFigures(
        total=reasons.total(),
        payable=sum(requesters[pk] for pk in payers),
        priced=prices.denials,
        reasons=sorted(
            ((str(reason), count) for reason, count in reasons.items()), key=lambda pair: (-pair[1], pair[0])
        ),
        requesters=top(requesters, Requester, ("requester_id", "name")),
        items=top(items, Content, ("id", "title")),
        at_stake=added_up(prices.by_requester.values()),
        by_requester=prices.by_requester,
    )


def top(counts: Counter[object], model: type[Model], names: tuple[str, str]) -> list[Row]:
    """Return the rows with the highest `count`, with the fields `names`; equal ones in the order of the first."""
    least = min(count for _, count in counts.most_common(TOP))
    rows = model._default_manager.filter(pk__in=[key for key, count in counts.items() if count >= least])
    counted: list[Row] = [{**row, "count": counts[row["pk"]]} for row in rows.values("pk", *names)]
    return sorted(counted, key=lambda row: (-row["count"], row[names[0]]))[:TOP]


def payers_among(requesters: Sequence[int]) -> list[int]:
    """Return the requesters that could pay: listed crawlers that proved who they are, and customers."""
    provable = Requester.objects.filter(pk__in=requesters).exclude(requester_id=ANONYMOUS)
    provable = provable.exclude(requester_id__startswith=UNVERIFIED)
    unlisted = Q(requester_id__startswith=AGENT, account__unlisted_signers=UnlistedSigners.DENY)
    return list(provable.exclude(unlisted & Q(licenses=None)).values_list("pk", flat=True).distinct())


def count_programs(events: HistoryQuerySet, account_id: str) -> Counter[str]:
    """Count the newest MAX_PRICED anonymous denials by what the User-Agent names: a browser, or another program.

    Programs can pretend to be browsers, so at most the browsers are people.
    """
    anonymous = Requester.objects.filter(account_id=account_id, requester_id=ANONYMOUS)
    denials = events.filter(requester_id__in=list(anonymous.values_list("pk", flat=True)))
    counts: Counter[str] = Counter()
    for denial in denials.only("created", "facts").order_by(*ORDER_BY_TIME)[:MAX_PRICED]:
        is_browser = names_browser(str(denial.facts.get("userAgent", "")))
        counts[BROWSERS if is_browser else PROGRAMS] += 1
    return counts


def names_browser(user_agent: str) -> bool:
    return user_agent.startswith("Mozilla/5.0 (") and not has_signs(user_agent)


class DenialPrices(NamedTuple):
    by_requester: dict[str, Sums]
    denials: int  # that were priced
    has_more: bool  # older ones, which were not


def price_denials(events: HistoryQuerySet) -> DenialPrices:
    """Add up the prices of the first offers of the newest MAX_PRICED denials."""
    by_requester: defaultdict[str, defaultdict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    denials = list(events.only(*PRICED_BY).order_by(*ORDER_BY_TIME)[: MAX_PRICED + 1])
    requesters = Requester.objects.filter(pk__in={denial.requester_id for denial in denials})
    ids = dict(requesters.values_list("pk", "requester_id"))
    for question in equal_questions(denials[:MAX_PRICED], ids):
        price = price_at_stake(question.policy, question.facts)
        if price is not None:
            amount = from_millionths(price.amount * question.events)
            by_requester[question.requester_id][price.currency] += amount
    sums = {requester: dict(prices) for requester, prices in by_requester.items()}
    return DenialPrices(sums, min(len(denials), MAX_PRICED), len(denials) > MAX_PRICED)


def added_up(sums_of_requesters: Iterable[Sums]) -> Sums:
    totals: defaultdict[str, Decimal] = defaultdict(Decimal)
    for sums in sums_of_requesters:
        for currency, amount in sums.items():
            totals[currency] += amount
    return dict(totals)


def render_sums(sums: Sums) -> list[dict[str, object]]:
    return [{"amount": render_amount(amount), "currency": currency} for currency, amount in sorted(sums.items())]
