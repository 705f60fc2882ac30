"""The overview's headline: revenue, refused requests that might have paid, and items that need attention."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import Count, Q
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from msgspec import Struct

from analytics.models import AccessEvent, LedgerEntry
from analytics.revenue.report import UnconvertedRevenue
from analytics.usage.daily_totals import DayTotals
from analytics.windows import MICROSECOND, Window
from licensing.edge.visitors import can_be_charged
from licensing.policies.decision import UNMET_DEMAND, UNPAID, Reason
from operators.base.figures.choice import FigureSelection, render_change, render_percent, window_filter
from operators.base.figures.terms import minor_units
from operators.base.links import list_url
from operators.base.times import time_filter
from operators.overview.figures import RevenueFigures, UsageFigures
from operators.overview.newest_decisions import MAX_SCANNED, Notice, newest_decisions, notices_without_policy

MAX_REQUESTERS = 5


class EarnedFigure(Struct, frozen=True):
    """Revenue in one currency; `change` is empty without earlier revenue."""

    amount: str
    change: str
    before: str
    link: str


class RefusedCount(Struct, frozen=True):
    """How often a requester was refused; `since` is when counting began."""

    requester: int
    own_id: str
    name: str
    count: int
    unpaid: int  # of these, how many for lack of credit
    since: datetime | None  # None for the whole window

    @property
    def is_somebody(self) -> bool:
        """Whether a licence would be that of a single customer: nobody proves to be another one."""
        return can_be_charged(self.own_id)

    @property
    def lacks_credit(self) -> bool:
        """Whether most of its denials are for lack of credit."""
        return self.unpaid * 2 > self.count


class OverviewFigures(Struct):
    """The figures of the page; those that the member of staff may not see stay empty."""

    usage: UsageFigures | None = None
    days: dict[str, DayTotals] = {}  # by account
    today: dict[str, object] | None = None
    steps: list[dict[str, object]] | None = None
    refused: dict[str, object] | None = None
    revenue: RevenueFigures | None = None
    earned: dict[str, list[EarnedFigure]] | None = None


def earned_figures(
    choice: FigureSelection, window: Window, unconverted: UnconvertedRevenue, revenue: RevenueFigures
) -> dict[str, list[EarnedFigure]]:
    """Return the revenue of a window: the leading figures and, if they were converted, the amounts as booked.

    The revenue section's figures come first, so that the page shows only one change for the same days. If rates are
    missing, each currency has its own figures: those with revenue first, then the chosen one.
    """
    filters = {**choice.account_filter, **window_filter("occurred_at", window)}
    totals = sorted(
        unconverted.by_currency().items(), key=lambda total: (not total[1][0], total[0] != choice.currency, total[0])
    )
    booked = [
        EarnedFigure(
            f"{minor_units(total, code)} {code}",
            render_change(total, before),
            minor_units(before, code),
            list_url(LedgerEntry, currency=code, **filters),
        )
        for code, (total, before) in totals
    ]
    if revenue.report.unconverted or [code for code, _ in totals] in ([], [choice.currency]):
        return {"leading": booked, "booked": []}
    converted = EarnedFigure(
        f"{minor_units(revenue.report.total, choice.currency)} {choice.currency}",
        render_percent(revenue.report.change_percent),
        minor_units(revenue.report.before, choice.currency),
        "#revenue-title",
    )
    earning = [amount for amount, (_, (total, _)) in zip(booked, totals, strict=True) if total]
    return {"leading": [converted], "booked": earning}


def refusal_figures(choice: FigureSelection, window: Window, denials: Mapping[str, int]) -> dict[str, object]:
    """Return a window's denials by reason that a (larger) licence would have prevented.

    Those by requester count `since` a time, None for the whole window.
    """
    counts = [(reason, denials[reason]) for reason in UNMET_DEMAND if reason in denials]
    if not counts:
        return {"count": 0}
    filters = {**choice.account_filter, **window_filter("created", window)}
    requesters = refused_requesters(choice.account_ids, window)
    since = requesters[0].since if requesters else None
    counted = {**choice.account_filter, **time_filter("created", since or window.start, window.end - MICROSECOND)}
    return {
        "count": sum(count for _, count in counts),
        "link": list_url(AccessEvent, outcome="unmet_demand", **filters),
        "reasons": [
            (reason.words, f"{count:,}", list_url(AccessEvent, outcome=reason, **filters)) for reason, count in counts
        ],
        "requesters": requesters,
        "decisions": list_url(AccessEvent, outcome="unmet_demand", **counted),
        "since": since,
    }


def refused_requesters(account_ids: Sequence[str], window: Window) -> list[RefusedCount]:
    """Return the requesters refused most often among the newest MAX_SCANNED decisions, without erased persons."""
    bounded, since = newest_decisions(account_ids, window, MAX_SCANNED)
    denials = bounded.filter(reason__in=UNMET_DEMAND, requester__is_erased=False).order_by()
    name = Coalesce("requester__name", "requester__requester_id")
    unpaid = Count("pk", filter=Q(reason__in=UNPAID))
    groups = denials.values_list("requester", "requester__requester_id", name)
    counted = groups.annotate(count=Count("pk"), unpaid=unpaid, since=since)
    return [RefusedCount(*row) for row in counted.order_by("-count", "requester")[:MAX_REQUESTERS]]


class Attention(Struct, frozen=True):
    """A part of the page whose rows need attention, with texts for one and several."""

    part: str  # key in the page's context
    singular: str
    plural: str
    link: str
    more: str = ""  # context key that says whether there are more rows


ATTENTION = (
    Attention(
        "near_limits",
        "An account has reached a limit of its plan, or is near it.",
        "accounts have reached a limit of their plans, or are near it.",
        "#running-title",
    ),
    Attention("webhooks", "A webhook fails.", "webhooks fail.", "#webhooks-title"),
    Attention(
        "denied_customers",
        "A customer with a licence was denied in the last 24 hours.",
        "customers with a licence were denied in the last 24 hours.",
        "#denied-customers",
    ),
    Attention(
        "ending",
        "A licence ends within 60 days and is not renewed.",
        "licences end within 60 days, and none follows them.",
        "#licenses-title",
        "more_ending",
    ),
    Attention(
        "refused_keys",
        "A proxy is refused with its key. For its site the service is down.",
        "keys of proxies are refused. For their sites the service is down.",
        "#keys-title",
    ),
    Attention(
        "refused_sites",
        "A proxy asks about a site with an unknown key, or with one for other hosts.",
        "sites have a proxy with an unknown key, or with one for other hosts.",
        "#keys-title",
    ),
    Attention(
        "keys",
        "A key expires soon, or was not used for 90 days.",
        "keys end soon, or were not used for 90 days.",
        "#keys-title",
        "more_keys",
    ),
)


def notices(
    request: HttpRequest,
    choice: FigureSelection,
    window: Window,
    figures: OverviewFigures,
    attention: Mapping[str, object],
) -> list[Notice]:
    """Return notices for the visible parts of the page that need attention."""
    lines = []
    if figures.revenue is not None and figures.revenue.report.unconverted:
        lines.append(
            Notice(f"An exchange rate is missing: the totals in {choice.currency} are incomplete.", "#revenue-title")
        )
    for kind in ATTENTION:
        rows = attention.get(kind.part)
        if isinstance(rows, list) and rows:
            more = "More than " if attention.get(kind.more) else ""
            lines.append(Notice(kind.singular if len(rows) == 1 else f"{more}{len(rows)} {kind.plural}", kind.link))
    denials = figures.usage.denials if figures.usage is not None else {}
    if count := denials.get(Reason.NO_POLICY, 0):
        lines += notices_without_policy(request, choice, window, count)
    return lines
