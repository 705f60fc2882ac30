"""Templates of licences: links that open the form with common terms filled in."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.timezone import get_current_timezone
from msgspec import Struct

from kit.values.calendar import add_months
from licensing.licenses.models import License
from operators.base.chosen_account import listed_id
from operators.base.model_admin import ScopedAdmin
from operators.base.scope import request_scope
from operators.customers.quotas import Quota

TEMPLATE = "template"  # name in the form's query
USUAL_CURRENCY = "USD"  # of a form that is for no account yet


class LicenseTemplate(Struct, frozen=True):
    title: str  # with a place for the currency
    fields: Callable[[datetime, str], dict[str, object]]  # the form's values by start and currency


class Choice(Struct, frozen=True):
    title: str
    address: str
    is_chosen: bool


def per_access(currency: str) -> dict[str, object]:
    return {"access_amount": Decimal("0.02"), "access_currency": currency}


def quota_then_charged(currency: str) -> dict[str, object]:
    return {**per_access(currency), **Quota(10_000, Decimal("0.02"), currency, Decimal(1000)).as_fields()}


def price_of_a_year(start: datetime, currency: str) -> dict[str, object]:
    return {
        "price_amount": Decimal(500),
        "price_currency": currency,
        "starts_at": start,
        "expires_at": add_months(start, 12, get_current_timezone()),
    }


TEMPLATES = {
    "quota": LicenseTemplate("10,000 accesses a month", lambda start, currency: Quota(10_000).as_fields()),
    "quota_then_charged": LicenseTemplate(
        "10,000 accesses a month, then 0.02 {} each", lambda start, currency: quota_then_charged(currency)
    ),
    "per_access": LicenseTemplate("0.02 {} for each access", lambda start, currency: per_access(currency)),
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
        terms = template.fields(now, currency_of_form(request))
        return cast("dict[str, str | list[str]]", {**initial, **terms})  # a form takes any value

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, object],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: License | None = None,
    ) -> HttpResponse:
        if add:
            context["license_templates"] = choices(request)
        return super().render_change_form(request, context, add, change, form_url, obj)


def choices(request: HttpRequest) -> list[Choice]:
    """Return the templates, each as a link that keeps the rest of the form's query, such as the customer."""

    def address(name: str) -> str:
        query = request.GET.copy()
        query[TEMPLATE] = name
        return f"?{query.urlencode()}"

    chosen, currency = request.GET.get(TEMPLATE), currency_of_form(request)
    return [Choice(one.title.format(currency), address(name), name == chosen) for name, one in TEMPLATES.items()]


def currency_of_form(request: HttpRequest) -> str:
    """Return the currency of the account that the form is for, as far as it is known."""
    scope = request_scope(request)
    account_id = request.GET.get("account") or listed_id(request) or scope.sole_account() or ""
    account = scope.account(account_id)
    return account.currency if account else USUAL_CURRENCY
