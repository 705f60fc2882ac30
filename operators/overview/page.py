"""The overview page, with the parts that the operator may see."""

from datetime import datetime
from urllib.parse import urlencode

from django.db.models import Case, F, Q, When
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from msgspec import Struct
from msgspec.structs import asdict

from accounts.keys import states as key_states
from accounts.limits.limiter import limiter
from accounts.models import Account, ApiKey
from accounts.plans.usage import PlanUse, plan_use
from accounts.webhooks.models import WebhookEndpoint
from analytics.ledger.due import book_due
from analytics.revenue.report import unconverted_revenue
from analytics.usage.daily_totals import DayTotals, today_and_yesterday
from analytics.windows import Window
from kit.storage.reading import use_memory
from kit.storage.replica import Reading
from licensing.sites.models import Site
from licensing.sites.refused_proxies import is_refused
from operators.access.proxy_refusals import is_over, refusal_in_words, refusal_of_site
from operators.base.figures.charts import CHART_FILES, share
from operators.base.figures.choice import MAX_ACCOUNTS, FigureSelection, chosen_window, days_in_words, read_selection
from operators.base.links import change_url, list_url
from operators.base.suggesting import booked_and_convertible_currencies
from operators.base.times import TO_DAY, shown_time
from operators.overview.figures import revenue_figures, today_figures, usage_figures
from operators.overview.first_steps import first_steps
from operators.overview.headline import OverviewFigures, earned_figures, notices, refusal_figures
from operators.overview.licenses import license_attention_context

MAX_ROWS = 10


class AccountRow(Struct, frozen=True):
    """An active account: today's decisions and use of its plan."""

    account: Account
    overview: str
    days: DayTotals
    use: PlanUse
    used_share_of_day: str

    @property
    def denied(self) -> int:
        return self.days.today - self.days.today_allowed


# The permissions that show parts of the page.
PARTS = {
    "usage": "analytics.view_accessevent",
    "revenue": "analytics.view_ledgerentry",
    "keys": "accounts.view_apikey",
    "accounts": "accounts.view_account",
    "webhooks": "accounts.view_webhookendpoint",
    "licenses": "licensing.view_license",
    "sites": "licensing.view_site",
}


class KeyRow(Struct, frozen=True):
    """A key, or a site whose proxy is refused."""

    name: str
    detail: str
    account: str
    link: str
    warning: str


def overview(request: HttpRequest, context: dict[str, object]) -> dict[str, object]:
    """Return the context of the first page (unfold's DASHBOARD_CALLBACK)."""
    now = timezone.now()
    choice = read_selection(request)
    visible = {part for part, permission in PARTS.items() if request.user.has_perm(permission)}
    booked: list[str] = []
    convertible: list[str] = []
    if "revenue" in visible:
        booked, convertible = booked_and_convertible_currencies(choice.account_ids, now.date())
    if "currency" not in request.GET:
        choice.currency = default_currency(choice, booked, convertible)
    context |= {
        "choice": choice,
        "currencies": list(dict.fromkeys([*booked, *convertible, choice.currency])),
        "most_accounts": MAX_ACCOUNTS,
        "visible": visible,
        "now": now,
        "chart_files": CHART_FILES,
    }
    if not choice.accounts:
        return context | {"steps": None if choice.problems else first_steps(request, choice)}
    window = chosen_window(choice, now)
    if "revenue" in visible:
        book_due(choice.account.pk if choice.account else None)
    reading = Reading()
    with use_memory():
        shown = reading.read(lambda: figures(request, choice, visible, window, now))
        attention = attention_context(request, choice, visible, shown.days, now)
        context |= days_in_words(window) | attention | asdict(shown)
        context["as_of"] = reading.as_of
        context["notices"] = notices(request, choice, window, shown, attention)
        return context


def default_currency(choice: FigureSelection, booked: list[str], convertible: list[str]) -> str:
    """Return the accounts' own currency if figures can be shown in it, otherwise the one that is booked most."""
    currencies = {account.currency for account in choice.accounts}
    if len(currencies) == 1 and (not booked or currencies & {*booked, *convertible}):
        return currencies.pop()
    return booked[0] if booked else choice.currency


# Again, because `reading.read` may choose the replica, whose connection `overview` has not set.
@use_memory()
def figures(
    request: HttpRequest, choice: FigureSelection, visible: set[str], window: Window, now: datetime
) -> OverviewFigures:
    """Return the figures that the member of staff may see."""
    shown = OverviewFigures()
    if "usage" in visible:
        shown.usage = usage_figures(choice, window)
        shown.days = today_and_yesterday(choice.account_ids, now)
        shown.today = today_figures(list(shown.days.values()), now)
        shown.steps = None if shown.usage.chart else first_steps(request, choice)
        shown.refused = refusal_figures(choice, window, shown.usage.denials)
    if "revenue" in visible:
        unconverted = unconverted_revenue(choice.account_ids, window)
        shown.revenue = revenue_figures(choice, window, now, unconverted)
        shown.earned = earned_figures(choice, window, unconverted, shown.revenue)
    return shown


def attention_context(
    request: HttpRequest, choice: FigureSelection, visible: set[str], days: dict[str, DayTotals], now: datetime
) -> dict[str, object]:
    """Return what needs attention. Always from the primary: the member of staff may just have changed it."""
    context: dict[str, object] = {"issues_licenses": request.user.has_perm("licensing.add_license")}
    if "licenses" in visible:
        context |= license_attention_context(request, choice, now)
    if "keys" in visible:
        context |= keys_needing_attention(choice, now)
    if "keys" in visible and "sites" in visible:
        context["refused_sites"] = sites_with_refused_proxies(choice, now)
    if "webhooks" in visible:
        context["webhooks"] = failing_webhooks(choice)
    if "accounts" in visible:
        rows = active_accounts(choice, days)
        context |= {
            "active_accounts": rows,
            "near_limits": [row for row in rows if row.use.is_near],
            "limiter_state": limiter.state(),
        }
    return context


def keys_needing_attention(choice: FigureSelection, now: datetime) -> dict[str, object]:
    """Return keys with which proxies are refused, those that end soon, and unused ones, at most MAX_ROWS.

    Refusals that are over are left out.
    """
    attention = key_states.is_refused(now) | key_states.expires_soon(now) | key_states.is_unused(now)
    keys = ApiKey.objects.filter(attention, account_id__in=choice.account_ids).select_related("account")
    refused_first = Case(When(key_states.is_refused(now), then=0), default=1)
    rows = list(keys.order_by(refused_first, F("expires_at").asc(nulls_last=True), "pk")[: MAX_ROWS + 1])
    refused = []
    others = []
    for key in rows[:MAX_ROWS]:
        refusal = refusal_in_words(key)
        warning = refusal or ", ".join(key_states.key_warnings(key, now))
        row = KeyRow(key.name, f"{key.prefix}…", key.account.name, change_url(key), warning)
        if not refusal:
            others.append(row)
        elif not is_over(key):
            refused.append(row)
    return {
        "refused_keys": refused,
        "keys": others,
        "more_keys": len(rows) > MAX_ROWS,
        "all_refused_keys": list_url(ApiKey, attention="refused", **choice.account_filter),
        "expiring_keys": list_url(ApiKey, attention="expiring", **choice.account_filter),
        "unused_keys": list_url(ApiKey, attention="unused", **choice.account_filter),
    }


def sites_with_refused_proxies(choice: FigureSelection, now: datetime) -> list[KeyRow]:
    """Return sites whose proxy has an unknown key, or one for other hosts, unless it works again."""
    sites = Site.objects.filter(is_refused(now), account_id__in=choice.account_ids).select_related("account")
    refused = sites.order_by("-refused_at", "pk")[:MAX_ROWS]
    return [
        KeyRow(site.host, "site", site.account.name, change_url(site), refusal_of_site(site))
        for site in refused
        if not is_over(site)
    ]


def failing_webhooks(choice: FigureSelection) -> list[dict[str, str]]:
    """Return the endpoints that are failing or were disabled by the service, and why."""
    troubled = Q(failing_since__isnull=False) | Q(disabled_reason__isnull=False)
    endpoints = WebhookEndpoint.objects.filter(troubled, account_id__in=choice.account_ids).order_by("-pk")[:MAX_ROWS]
    rows = []
    for endpoint in endpoints:
        why = endpoint.disabled_reason or ""
        if endpoint.failing_since is not None and not why:
            why = format_html("failing since {}", shown_time(endpoint.failing_since, TO_DAY))
        rows.append({"link": change_url(endpoint), "url": endpoint.url, "why": why})
    return rows


def active_accounts(choice: FigureSelection, days: dict[str, DayTotals]) -> list[AccountRow]:
    """Return the accounts active today: those near a plan limit first, then the busiest."""
    usage_by_account = plan_use(choice.accounts)
    rows = []
    for account in choice.accounts:
        use = usage_by_account[account.pk]
        decisions = days.get(account.pk, DayTotals())
        if not (use.day.count or use.edge_day.count or decisions.today):
            continue
        rows.append(
            AccountRow(
                account=account,
                overview=f"{reverse('admin:index')}?{urlencode(choice.query(account=account.pk))}",
                days=decisions,
                use=use,
                used_share_of_day=share(use.day.count, use.day.limit),
            )
        )
    rows.sort(key=lambda row: (not row.use.is_near, -max(row.days.today, row.use.day.count), row.account.pk))
    return rows[:MAX_ROWS]
