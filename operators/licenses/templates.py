"""The form of a new licence: templates with common terms, Renew and Duplicate; suggestions, and a preview."""

from collections.abc import Callable
from datetime import UTC, datetime, time, tzinfo
from decimal import Decimal
from typing import ClassVar, cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.timezone import get_current_timezone
from django.views.decorators.http import require_POST
from msgspec import Struct
from unfold.decorators import action

from accounts.models import Account
from kit.values.calendar import add_months
from licensing.licenses.models import License, LicenseStatus
from licensing.licenses.services import STARTS_BEFORE
from operators.base.fields import SuggestingInput
from operators.base.lists import right
from operators.base.model_admin import ScopedAdmin
from operators.base.scope import listed_id, request_scope
from operators.base.suggesting import Kind, SuggestingAdmin, offered_ids
from operators.customers.quotas import Quota
from operators.licenses.preview import build_preview
from operators.licenses.question import known_types, types_in_policies

TEMPLATE = "template"  # name in the form's query
USUAL_CURRENCY = "USD"  # of a form that is for no account yet
RENEWED, DUPLICATED = "renew", "duplicate"  # names in the form's query
KEPT = (
    "license_type", "content_ids", "tags", "policy_ids",
    "price_amount", "price_currency", "access_amount", "access_currency", "fee_amount", "fee_currency", "fee_every",
)  # fmt: skip


class LicenseTemplate(Struct, frozen=True):
    title: str  # with a place for the currency
    fields: Callable[[datetime, str], dict[str, object]]  # the form's values by start and currency


class Choice(Struct, frozen=True):
    title: str
    address: str
    is_chosen: bool


def monthly_quota(start: datetime, currency: str) -> dict[str, object]:
    return Quota(10_000).as_fields()


def quota_then_charged(start: datetime, currency: str) -> dict[str, object]:
    quota = Quota(10_000, Decimal("0.02"), currency, Decimal(1000))
    return {**price_per_access(start, currency), **quota.as_fields()}


def price_per_access(start: datetime, currency: str) -> dict[str, object]:
    return {"access_amount": Decimal("0.02"), "access_currency": currency}


def price_of_a_year(start: datetime, currency: str) -> dict[str, object]:
    return {
        "price_amount": Decimal(500),
        "price_currency": currency,
        "starts_at": start,
        "expires_at": add_months(start, 12, get_current_timezone()),
    }


TEMPLATES = {
    "quota": LicenseTemplate("10,000 accesses a month", monthly_quota),
    "quota_then_charged": LicenseTemplate("10,000 accesses a month, then 0.02 {} each", quota_then_charged),
    "per_access": LicenseTemplate("0.02 {} for each access", price_per_access),
    "year": LicenseTemplate("500 {} for a year", price_of_a_year),
}


class LicenseTemplates(ScopedAdmin[License]):
    """Adds the templates to the form of a new licence."""

    change_form_outer_before_template = "operators/customers/license_templates.html"

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, str | list[str]]:
        initial = super().get_changeform_initial_data(request)
        template = TEMPLATES.get(str(initial.pop(TEMPLATE, "")))
        if template is None:
            return initial
        now = timezone.now().replace(microsecond=0)
        terms = {**only_type(request), **template.fields(now, currency_of_form(request))}
        return cast("dict[str, str | list[str]]", {**initial, **terms})  # a form takes any value

    def form_context(self, request: HttpRequest, form: ModelForm, obj: License | None) -> dict[str, object]:
        context = super().form_context(request, form, obj)
        return context if obj is not None else {**context, "license_templates": choices(request)}


def choices(request: HttpRequest) -> list[Choice]:
    """Return the templates, each as a link that keeps the rest of the form's query, such as the customer."""

    def address(name: str) -> str:
        query = request.GET.copy()
        query[TEMPLATE] = name
        return f"?{query.urlencode()}"

    chosen = request.GET.get(TEMPLATE)
    currency = currency_of_form(request)
    return [
        Choice(template.title.format(currency), address(name), name == chosen) for name, template in TEMPLATES.items()
    ]


def account_of_form(request: HttpRequest) -> Account | None:
    """Return the account that the form is for, as far as it is known."""
    scope = request_scope(request)
    return scope.account(request.GET.get("account") or listed_id(request) or scope.sole_account() or "")


def currency_of_form(request: HttpRequest) -> str:
    account = account_of_form(request)
    return account.currency if account else USUAL_CURRENCY


def only_type(request: HttpRequest) -> dict[str, object]:
    """Return the licence type of the form's account, if its policies name exactly one."""
    account = account_of_form(request)
    types = types_in_policies([account.pk]) if account else set()
    return {"license_type": types.pop()} if len(types) == 1 else {}


def is_renewable(license_: License) -> bool:
    """Return whether another licence can start at its end."""
    return (
        license_.status == LicenseStatus.ACTIVE
        and license_.expires_at is not None
        and license_.expires_at < STARTS_BEFORE
    )


def end_of_term(license_: License, start: datetime) -> datetime | None:
    """Return the end of a term as long as the licence's; None if it has no end, or one after the year 9999.

    The term is in whole months if the licence's is: in UTC, or in the operator's time zone, whose offset may change.
    Of both, the one counts in which the licence starts at midnight: a month from there may be another one elsewhere.
    """
    if license_.expires_at is None:
        return None
    try:
        for zone in sorted((UTC, get_current_timezone()), key=lambda zone: not is_midnight(license_.starts_at, zone)):
            first, last = license_.starts_at.astimezone(zone), license_.expires_at.astimezone(zone)
            months = (last.year - first.year) * 12 + last.month - first.month
            if months and add_months(license_.starts_at, months, zone) == license_.expires_at:
                return add_months(start, months, zone)
        return start + (license_.expires_at - license_.starts_at)
    except (ValueError, OverflowError):
        return None


def is_midnight(moment: datetime, zone: tzinfo) -> bool:
    return moment.astimezone(zone).time() == time.min


def renewal(license_: License, now: datetime) -> dict[str, object]:
    """Return the same terms, starting at the licence's end, or now if it has ended."""
    start = now if license_.expires_at is None else max(license_.expires_at, now)
    return {
        **copied_terms(license_),
        "requester_own_id": license_.requester.requester_id,
        "starts_at": start,
        "expires_at": end_of_term(license_, start),
    }


def duplicate(license_: License, now: datetime) -> dict[str, object]:
    """Return the same terms starting now, without requester: a second licence for the same one would be
    booked twice.
    """
    return {**copied_terms(license_), "expires_at": end_of_term(license_, now)}


def copied_terms(license_: License) -> dict[str, object]:
    """Return the terms as the form's values, with the monthly quota."""
    quota = Quota.from_license(license_)
    quota_fields = {} if quota is None else quota.as_fields()
    return {"account": license_.account_id, **{name: getattr(license_, name) for name in KEPT}, **quota_fields}


class FollowUps(ScopedAdmin[License]):
    """Adds `renew` and `duplicate` to the admin of licences; list them in `actions_detail`."""

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, str | list[str]]:
        for name, filled_in in ((RENEWED, renewal), (DUPLICATED, duplicate)):
            if name in request.GET:
                terms = filled_in(self.require_object(request, request.GET[name]), timezone.now())
                return cast("dict[str, str | list[str]]", terms)  # a form takes any value
        return super().get_changeform_initial_data(request)

    has_duplicating_permission = right("licensing.add_license")

    def has_renewing_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        if not self.has_duplicating_permission(request):
            return False
        return object_id is None or is_renewable(self.require_object(request, object_id))

    @action(description="Renew", icon="autorenew", permissions=["renewing"], url_path="renew")
    def renew(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.filled_in(request, RENEWED, self.require_object(request, object_id))

    @action(description="Duplicate", icon="content_copy", permissions=["duplicating"], url_path="duplicate")
    def duplicate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.filled_in(request, DUPLICATED, self.require_object(request, object_id))

    def filled_in(self, request: HttpRequest, how: str, license_: License) -> HttpResponse:
        source = f"the licence {license_.license_type} of {license_.requester}"
        messages.info(request, f"Filled in from {source}. Nothing is issued until you save.")
        return redirect(f"{reverse('admin:licensing_license_add')}?{how}={license_.pk}")


class LicenseFormHelp(SuggestingAdmin[License], ScopedAdmin[License]):
    change_form_after_template = "operators/customers/license_form.html"
    suggested: ClassVar = {
        "requester_own_id": Kind.CUSTOMER,
        "content_ids": Kind.ITEM,
        "tags": Kind.TAG,
        "policy_ids": Kind.POLICY,
    }

    class Media:
        js: ClassVar = ("operators/preview.js",)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(self.preview))
        return [path("preview/", view, name="licensing_license_preview"), *super().get_urls()]

    def get_form(
        self, request: HttpRequest, obj: License | None = None, change: bool = False, **kwargs: object
    ) -> type[ModelForm]:
        form = super().get_form(request, obj, change, **kwargs)
        if "license_type" in form.base_fields:
            form.base_fields["license_type"].widget = SuggestingInput(
                lambda: known_types([obj.account_id] if obj is not None else offered_ids(request))
            )
        return form

    def form_context(self, request: HttpRequest, form: ModelForm, obj: License | None) -> dict[str, object]:
        context = super().form_context(request, form, obj)
        if obj is None or self.has_change_permission(request, obj):
            query = f"?license={obj.pk}" if obj is not None else ""
            context["preview_address"] = f"{reverse('admin:licensing_license_preview')}{query}"
        return context

    def preview(self, request: HttpRequest) -> HttpResponse:
        """Return an HTML fragment that previews saving the form; empty until an account is chosen."""
        if not (self.has_add_permission(request) or self.has_change_permission(request)):
            raise PermissionDenied
        license_ = None
        account = request_scope(request).account(request.POST.get("account", ""))
        if "license" in request.GET:
            license_ = self.require_object(request, request.GET["license"])
            account = license_.account
        if account is None:
            return HttpResponse("")
        context = {"preview": build_preview(account, license_, request.POST)}
        return TemplateResponse(request, "operators/customers/license_preview.html", context)
