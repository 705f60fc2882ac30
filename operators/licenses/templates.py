"""The form of a new licence: templates with common terms, Renew and Duplicate; suggestions, and a preview."""

from datetime import UTC, datetime, time
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
from operators.base.links import Option
from operators.base.model_admin import ScopedAdmin
from operators.base.rights import right
from operators.base.scope import listed_account_id, request_scope
from operators.base.suggesting import SuggestingAdmin, SuggestionKind, offered_account_ids
from operators.customers.quotas import Quota
from operators.licenses.effects import known_types, types_in_policies
from operators.licenses.preview import build_preview

TEMPLATE_PARAMETER = "template"  # name in the form's query
USUAL_CURRENCY = "USD"  # of a form that is for no account yet
RENEW_PARAMETER, DUPLICATE_PARAMETER = "renew", "duplicate"  # names in the form's query
COPIED_FIELDS = (
    "license_type", "content_ids", "tags", "policy_ids",
    "price_amount", "price_currency", "access_amount", "access_currency", "fee_amount", "fee_currency", "fee_every",
)  # fmt: skip


CURRENCY_FIELDS = ("price_currency", "access_currency", "fee_currency")


class LicenseTemplate(Struct, frozen=True):
    name: str
    title: str
    fields: dict[str, object]  # the form's values


def build_templates(start: datetime, currency: str) -> list[LicenseTemplate]:
    per_access: dict[str, object] = {"access_amount": Decimal("0.02"), "access_currency": currency}
    charged_quota = Quota(10_000, Decimal("0.02"), currency, Decimal(1000))
    year: dict[str, object] = {
        "price_amount": Decimal(500),
        "price_currency": currency,
        "starts_at": start,
        "expires_at": add_months(start, 12, get_current_timezone()),
    }
    return [
        LicenseTemplate("quota", "10,000 accesses a month", Quota(10_000).as_fields()),
        LicenseTemplate(
            "quota_then_charged",
            f"10,000 accesses a month, then 0.02 {currency} each",
            per_access | charged_quota.as_fields(),
        ),
        LicenseTemplate("per_access", f"0.02 {currency} for each access", per_access),
        LicenseTemplate("year", f"500 {currency} for a year", year),
    ]


def template_options(request: HttpRequest) -> list[Option]:
    """Return the templates, each as a link that keeps the rest of the form's query, such as the customer."""
    options = []
    for template in build_templates(timezone.now(), currency_of_form(request)):
        query = request.GET.copy()
        query[TEMPLATE_PARAMETER] = template.name
        is_chosen = template.name == request.GET.get(TEMPLATE_PARAMETER)
        options.append(Option(template.title, f"?{query.urlencode()}", is_chosen))
    return options


def account_of_form(request: HttpRequest) -> Account | None:
    """Return the account that the form is for, as far as it is known."""
    scope = request_scope(request)
    account_id = request.GET.get("account") or listed_account_id(request) or scope.only_visible_account_id()
    return scope.account(account_id or "")


def currency_of_form(request: HttpRequest) -> str:
    account = account_of_form(request)
    return account.currency if account else USUAL_CURRENCY


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
        zones = [UTC, get_current_timezone()]
        zones.sort(key=lambda zone: license_.starts_at.astimezone(zone).time() != time.min)
        for zone in zones:
            first, last = license_.starts_at.astimezone(zone), license_.expires_at.astimezone(zone)
            months = (last.year - first.year) * 12 + last.month - first.month
            if months and add_months(license_.starts_at, months, zone) == license_.expires_at:
                return add_months(start, months, zone)
        return start + (license_.expires_at - license_.starts_at)
    except (ValueError, OverflowError):
        return None


def renewal_terms(license_: License, now: datetime) -> dict[str, object]:
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
    terms = {name: getattr(license_, name) for name in COPIED_FIELDS}
    return {"account": license_.account_id, **terms, **quota_fields}


class LicenseForms(SuggestingAdmin[License], ScopedAdmin[License]):
    """The form of a new licence. Adds `renew` and `duplicate`; list them in `actions_detail`."""

    change_form_outer_before_template = "operators/customers/license_templates.html"
    change_form_after_template = "operators/customers/license_form.html"
    suggested: ClassVar = {
        "requester_own_id": SuggestionKind.CUSTOMER,
        "content_ids": SuggestionKind.ITEM,
        "tags": SuggestionKind.TAG,
        "policy_ids": SuggestionKind.POLICY,
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
                lambda: known_types([obj.account_id] if obj is not None else offered_account_ids(request))
            )
        return form

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, str | list[str]]:
        """Fill in the licence to renew or to duplicate, or a template with the only type that policies name."""
        now = timezone.now()
        terms: dict[str, object] = {}
        if RENEW_PARAMETER in request.GET:
            terms = renewal_terms(self.require_object(request, request.GET[RENEW_PARAMETER]), now)
        elif DUPLICATE_PARAMETER in request.GET:
            terms = duplicate(self.require_object(request, request.GET[DUPLICATE_PARAMETER]), now)
        else:
            if (account := account_of_form(request)) is not None:
                terms |= dict.fromkeys(CURRENCY_FIELDS, account.currency)
            terms |= super().get_changeform_initial_data(request)
            chosen = terms.pop(TEMPLATE_PARAMETER, "")
            for template in build_templates(now.replace(microsecond=0), currency_of_form(request)):
                if template.name == chosen:
                    types = types_in_policies([account.pk]) if account else set()
                    if len(types) == 1:
                        terms["license_type"] = types.pop()
                    terms |= template.fields
        return cast("dict[str, str | list[str]]", terms)  # a form takes any value

    def form_context(self, request: HttpRequest, form: ModelForm, obj: License | None) -> dict[str, object]:
        context = super().form_context(request, form, obj)
        preview = reverse("admin:licensing_license_preview")
        if obj is None:
            context |= {"license_templates": template_options(request), "preview_address": preview}
        elif self.has_change_permission(request, obj):
            context["preview_address"] = f"{preview}?license={obj.pk}"
        return context

    has_duplicating_permission = right("licensing.add_license")

    def has_renewing_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        if not self.has_duplicating_permission(request):
            return False
        return object_id is None or is_renewable(self.require_object(request, object_id))

    @action(description="Renew", icon="autorenew", permissions=["renewing"], url_path="renew")
    def renew(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.filled_in(request, RENEW_PARAMETER, self.require_object(request, object_id))

    @action(description="Duplicate", icon="content_copy", permissions=["duplicating"], url_path="duplicate")
    def duplicate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.filled_in(request, DUPLICATE_PARAMETER, self.require_object(request, object_id))

    def filled_in(self, request: HttpRequest, how: str, license_: License) -> HttpResponse:
        source = f"the licence {license_.license_type} of {license_.requester}"
        messages.info(request, f"Filled in from {source}. Nothing is issued until you save.")
        return redirect(f"{reverse('admin:licensing_license_add')}?{how}={license_.pk}")

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
