"""The overview page, with the parts that the operator may see."""

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlencode

from django.db.models import Case, F, Model, Q, When
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from msgspec import Struct

from accounts.keys import states as key_states
from accounts.limits.limiter import limiter
from accounts.models import Account, ApiKey
from accounts.plans.usage import PlanUse, plan_use
from accounts.webhooks.models import WebhookEndpoint
from analytics.ledger.due import book_due
from analytics.models import HourlyUsage, RecentUsage
from analytics.revenue.report import unconverted_revenue
from analytics.usage.daily_totals import Days, today_and_yesterday
from analytics.usage.report import in_memory
from analytics.windows import Window
from kit.storage.replica import Reading
from licensing.content.models import Content
from licensing.policies.models import Policy
from operators.access.key_pages import is_over, refusal_in_words
from operators.base.figures.charts import CHART_FILES, share
from operators.base.figures.choice import MAX_ACCOUNTS, Choice, chosen_window, days_in_words, read_choice
from operators.base.links import change_url, list_url
from operators.base.suggesting import booked_and_rated
from operators.base.times import TO_DAY, shown_time
from operators.overview.figures import revenue_figures, today_figures, usage_figures
from operators.overview.headline import earned_figures, notices, refusal_figures
from operators.overview.licenses import licenses_to_look_after

# Title, reason, page in the admin, permission.
STEPS = (
    ("Make an account", "It is one publisher, and owns everything below.", "accounts_account", "add_account"),
    ("Make an API key", "Programs use it to call the service.", "accounts_apikey", "add_apikey"),
    ("Write a policy", "Its rules say who may access what.", "licensing_policy", "add_policy"),
    ("Add content", "Link it to the policy. Items without a policy are denied.", "licensing_content", "add_content"),
)
MAX_ROWS = 10


class Step(Struct, frozen=True):
    """A step; `link` is empty without the permission."""

    title: str
    why: str
    done: bool
    link: str


def first_steps(request: HttpRequest, choice: Choice) -> list[Step] | None:
    """Return the steps, or None once there are decisions."""
    # in this order, because rows move from the first to the second
    if exists(RecentUsage, choice) or exists(HourlyUsage, choice):
        return None
    done = [bool(choice.accounts), *(exists(model, choice) for model in (ApiKey, Policy, Content))]
    steps = [
        Step(title, why, is_done, link_to(request, page, permission))
        for (title, why, page, permission), is_done in zip(STEPS, done, strict=True)
    ]
    last = Step(
        "Check access",
        "Send POST /v1/access/check with the key. Then this page shows figures.",
        False,
        "/docs/start/quickstart/",
    )
    return [*steps, last]


def exists(model: type[Model], choice: Choice) -> bool:
    """Whether any of the accounts has one. One query: per account, PostgreSQL might read the whole table."""
    return bool(choice.accounts) and model._default_manager.filter(account_id__in=choice.account_ids).exists()


def link_to(request: HttpRequest, page: str, permission: str) -> str:
    app, _ = page.split("_")
    if permission == "add_account" and not request.user.is_superuser:
        return ""  # others would not see the new account
    return reverse(f"admin:{page}_add") if request.user.has_perm(f"{app}.{permission}") else ""


class AccountRow(Struct, frozen=True):
    """An active account: today's decisions and use of its plan."""

    account: Account
    link: str
    overview: str
    days: Days
    use: PlanUse
    day_share: str

    @property
    def denied(self) -> int:
        return self.days.today - self.days.today_allowed


class KeyRow(Struct, frozen=True):
    key: ApiKey
    link: str
    warning: str


def overview(request: HttpRequest, context: dict[str, object]) -> dict[str, object]:
    """Return the context of the first page (unfold's DASHBOARD_CALLBACK)."""
    now, user = timezone.now(), request.user
    choice = read_choice(request)
    sees = {
        "usage": user.has_perm("analytics.view_accessevent"),
        "revenue": user.has_perm("analytics.view_ledgerentry"),
        "keys": user.has_perm("accounts.view_apikey"),
        "accounts": user.has_perm("accounts.view_account"),
        "webhooks": user.has_perm("accounts.view_webhookendpoint"),
        "licenses": user.has_perm("licensing.view_license"),
    }
    used, rated = booked_and_rated(choice.account_ids, now.date()) if sees["revenue"] else ([], [])
    if "currency" not in request.GET:
        choice.currency = default_currency(choice, used, rated)
    context |= {
        "choice": choice,
        "currencies": list(dict.fromkeys([*used, *rated, choice.currency])),
        "most_accounts": MAX_ACCOUNTS,
        "sees": sees,
        "now": now,
        "chart_files": CHART_FILES,
    }
    if not choice.accounts:
        if not choice.problems:
            context["steps"] = first_steps(request, choice)
        return context
    window = chosen_window(choice, now)
    context |= days_in_words(window)
    if sees["revenue"]:
        book_due(choice.account.pk if choice.account else None)
    reading = Reading()
    with in_memory():
        found = reading.read(lambda: figures(request, choice, sees, window, now))
        context |= {**found.context, "as_of": reading.as_of}
        context |= attention_context(request, choice, sees, found.days, now)
        context["notices"] = notices(request, choice, window, context, found.denials)
    return context


def default_currency(choice: Choice, used: list[str], rated: list[str]) -> str:
    """Return the accounts' own currency if figures can be shown in it, otherwise the one that is booked most."""
    currencies = {account.currency for account in choice.accounts}
    currency = currencies.pop() if len(currencies) == 1 else ""
    if currency and (currency in used or currency in rated or not used):
        return currency
    return used[0] if used else choice.currency


class Figures(Struct, frozen=True):
    context: dict[str, object]  # of the template
    days: dict[str, Days]  # by account
    denials: Mapping[str, int]  # by reason


@in_memory()
def figures(request: HttpRequest, choice: Choice, sees: dict[str, bool], window: Window, now: datetime) -> Figures:
    """Return the figures that the member of staff may see."""
    context: dict[str, object] = {}
    days: dict[str, Days] = {}
    denials: Mapping[str, int] = {}
    if sees["usage"]:
        usage = usage_figures(choice, window)
        denials = usage.denials
        days = today_and_yesterday(choice.account_ids, now)
        context |= {"usage": usage, "today": today_figures(list(days.values()), now)}
        context["steps"] = None if usage.chart else first_steps(request, choice)
        context["refused"] = refusal_figures(request, choice, window, denials)
    if sees["revenue"]:
        unconverted = unconverted_revenue(choice.account_ids, window)
        revenue = revenue_figures(choice, window, now, unconverted)
        context |= {"revenue": revenue, "earned": earned_figures(choice, window, unconverted, revenue)}
    return Figures(context, days, denials)


def attention_context(
    request: HttpRequest, choice: Choice, sees: dict[str, bool], days: dict[str, Days], now: datetime
) -> dict[str, object]:
    """Return what needs attention. Always from the primary: the member of staff may just have changed it."""
    context: dict[str, object] = {"issues_licenses": request.user.has_perm("licensing.add_license")}
    if sees["licenses"]:
        context |= licenses_to_look_after(request, choice, now)
    if sees["keys"]:
        context |= keys_needing_attention(choice, now)
    if sees["webhooks"]:
        context["webhooks"] = failing_webhooks(choice)
    if sees["accounts"]:
        rows = active_accounts(choice, days)
        context |= {
            "running": rows,
            "near_limits": [row for row in rows if row.use.is_near],
            "counted": limiter.state(),
        }
    return context


def keys_needing_attention(choice: Choice, now: datetime) -> dict[str, object]:
    """Return keys with which proxies are refused, those that end soon, and unused ones, at most MAX_ROWS.

    Refusals that are over are left out.
    """
    attention = key_states.is_refused(now) | key_states.expires_soon(now) | key_states.is_unused(now)
    keys = ApiKey.objects.filter(attention, account_id__in=choice.account_ids).select_related("account")
    refused_first = Case(When(key_states.is_refused(now), then=0), default=1)
    rows = list(keys.order_by(refused_first, F("expires_at").asc(nulls_last=True), "pk")[: MAX_ROWS + 1])
    refused, others = [], []
    for key in rows[:MAX_ROWS]:
        refusal = refusal_in_words(key)
        if refusal and is_over(key):
            continue
        if refusal:
            refused.append(KeyRow(key, change_url(key), refusal))
        else:
            others.append(KeyRow(key, change_url(key), ", ".join(key_states.key_warnings(key, now))))
    return {
        "refused_keys": refused,
        "keys": others,
        "more_keys": len(rows) > MAX_ROWS,
        "all_refused_keys": list_url(ApiKey, attention="refused", **choice.account_filter),
        "expiring_keys": list_url(ApiKey, attention="expiring", **choice.account_filter),
        "unused_keys": list_url(ApiKey, attention="unused", **choice.account_filter),
    }


def failing_webhooks(choice: Choice) -> list[tuple[str, str, str]]:
    """Return link, URL and state of endpoints that are failing or were disabled by the service."""
    troubled = Q(failing_since__isnull=False) | Q(disabled_reason__isnull=False)
    endpoints = WebhookEndpoint.objects.filter(troubled, account_id__in=choice.account_ids).order_by("-pk")[:MAX_ROWS]
    return [(change_url(endpoint), endpoint.url, describe_trouble(endpoint)) for endpoint in endpoints]


def describe_trouble(endpoint: WebhookEndpoint) -> str:
    if endpoint.failing_since is None or endpoint.disabled_reason:
        return endpoint.disabled_reason or ""
    return format_html("failing since {}", shown_time(endpoint.failing_since, TO_DAY))


def active_accounts(choice: Choice, days: dict[str, Days]) -> list[AccountRow]:
    """Return the accounts active today: those near a plan limit first, then the busiest."""
    use = plan_use(choice.accounts)
    rows = [
        AccountRow(
            account,
            change_url(account),
            f"{reverse('admin:index')}?{urlencode(choice.query(account=account.pk))}",
            days.get(account.pk, Days()),
            use[account.pk],
            share(used.day.count, used.day.limit),
        )
        for account in choice.accounts
        if (used := use[account.pk]).day.count or used.edge_day.count or days.get(account.pk, Days()).today
    ]
    rows.sort(key=lambda row: (not row.use.is_near, -max(row.days.today, row.use.day.count), row.account.pk))
    return rows[:MAX_ROWS]
