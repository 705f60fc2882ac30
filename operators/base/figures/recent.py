"""The last 30 days of an item or requester on its page: decisions, denials, revenue, licences, and buttons."""

from datetime import datetime
from typing import ClassVar
from urllib.parse import urlencode

from django.db.models import Model, QuerySet
from django.forms import Media, ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html_join
from unfold.decorators import action

from accounts.models import Account
from analytics.models import AccessEvent, LedgerEntry
from analytics.revenue.sums import sums_of_one
from analytics.usage.subject_usage import Key, Subject, read_subject_usage
from analytics.windows import Window, end_of_day, start_of_period
from kit.values.currencies import in_full
from licensing.licenses.models import License
from operators.base.figures.charts import CHART_FILES, decisions_chart
from operators.base.figures.choice import days_in_words, denial_rows, window_filter
from operators.base.links import change_url, list_url
from operators.base.mixins import ModelT
from operators.base.model_admin import ScopedAdmin
from operators.base.rights import right
from operators.base.scope import CHECK_PERMISSIONS
from operators.base.times import TO_SECOND, shown_time

MAX_LICENSES = 10
LATEST = 5
FIGURE_ACTIONS = ("issue_license", "check_access")


class RecentFigures(ScopedAdmin[ModelT]):
    """A ModelAdmin of items or requesters, with FIGURE_ACTIONS in its `actions_detail`."""

    subject_kind: ClassVar[Subject]
    licenses_title: ClassVar[str]
    no_licenses: ClassVar[str]
    change_form_outer_before_template = "operators/customers/of_one.html"

    @property
    def media(self) -> Media:
        return super().media + CHART_FILES

    def shown_licenses(self, obj: ModelT) -> QuerySet[License]:
        """Return its licences, the most important first."""
        raise NotImplementedError

    def license_fields(self, obj: ModelT) -> dict[str, str]:
        """Return initial values of a new licence's form, besides the account."""
        raise NotImplementedError

    def check_fields(self, obj: ModelT) -> dict[str, str]:
        """Return initial values of the Check access page, besides the account."""
        raise NotImplementedError

    def form_context(self, request: HttpRequest, form: ModelForm, obj: ModelT | None) -> dict[str, object]:
        context = super().form_context(request, form, obj)
        return context if obj is None else context | self.figures(request, obj, timezone.now())

    def figures(self, request: HttpRequest, obj: ModelT, now: datetime) -> dict[str, object]:
        """Return the figures that the member of staff may see."""
        account: Account = getattr(obj, "account")  # noqa: B009 - of both models
        end = end_of_day(now, account.zone)
        window = Window(start_of_period(end, "30d", account.zone), end, "day", account.zone)
        account_id = account.pk
        key: Key = obj.pk
        is_requester = self.subject_kind == "requester"
        subject_filter = {f"{self.subject_kind}__id__exact": str(key)}
        context: dict[str, object] = {}
        if request.user.has_perm("analytics.view_accessevent"):
            usage = read_subject_usage(self.subject_kind, account_id, key, window)
            window = usage.window
            decision_filters = {**subject_filter, **window_filter("created", window)}
            context |= {
                "usage": usage,
                "chart": decisions_chart("day", [(day.date, day.requests, day.allowed) for day in usage.days]),
                "reasons": denial_rows(usage.reasons, usage.denied, decision_filters),
                "all_decisions": list_url(AccessEvent, **decision_filters),
            }
        if request.user.has_perm("analytics.view_ledgerentry"):
            revenue = []
            for code, amount in sums_of_one(self.subject_kind, account_id, key, window).items():
                entries = ""  # the ledger has no filter by item
                if is_requester:
                    entries = list_url(
                        LedgerEntry, **subject_filter, currency=code, **window_filter("occurred_at", window)
                    )
                revenue.append((in_full(amount, code), entries))
            context["revenue"] = revenue
        if request.user.has_perm("licensing.view_license"):
            licenses = list(self.shown_licenses(obj)[: MAX_LICENSES + 1])
            context |= {
                "licenses": licenses[:MAX_LICENSES],
                "more_licenses": len(licenses) > MAX_LICENSES,
                "licenses_title": self.licenses_title,
                "no_licenses": self.no_licenses,
                "shows_holder": not is_requester,
                "all_licenses": list_url(License, **subject_filter) if is_requester else "",
            }
        return {"of_one": context | days_in_words(window)}

    # --- Buttons -----------------------------------------------------------------------------------------------------

    has_issuing_permission = right("licensing.add_license")

    @action(description="Issue licence", icon="workspace_premium", permissions=["issuing"], url_path="issue-license")
    def issue_license(self, request: HttpRequest, object_id: str) -> HttpResponse:
        obj = self.require_object(request, object_id)
        return filled_in("admin:licensing_license_add", obj, self.license_fields(obj))

    has_trying_permission = right(*CHECK_PERMISSIONS)

    @action(description="Check access", icon="fact_check", permissions=["trying"], url_path="check-access")
    def check_access(self, request: HttpRequest, object_id: str) -> HttpResponse:
        obj = self.require_object(request, object_id)
        return filled_in("admin:check_access", obj, self.check_fields(obj))


def filled_in(view: str, obj: Model, fields: dict[str, str]) -> HttpResponse:
    """Redirect to a form prefilled for the object's account."""
    return redirect(f"{reverse(view)}?{urlencode({'account': getattr(obj, 'account_id', ''), **fields})}")


def latest_decisions(events: QuerySet[AccessEvent], about: str) -> str:
    """Render links to the newest decisions, each with its attribute `about`."""
    rows = []
    for event in events[:LATEST]:
        outcome = "allowed" if event.allowed else f"denied: {event.reason}"
        moment = shown_time(event.created, TO_SECOND)
        rows.append((change_url(event), moment, outcome, getattr(event, about)))
    return format_html_join("", '<div><a class="text-link" href="{}">{}</a> {} ({})</div>', rows) or "none"
