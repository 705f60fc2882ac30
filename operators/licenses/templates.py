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
from operators.base.model_admin import ScopedAdmin
from operators.customers.quotas import Quota

TEMPLATE = "template"  # name in the form's query
PER_ACCESS = {"access_amount": Decimal("0.02"), "access_currency": "USD"}


class LicenseTemplate(Struct, frozen=True):
    title: str
    fields: Callable[[datetime], dict[str, object]]  # the form's values for a licence that starts then


class Choice(Struct, frozen=True):
    title: str
    address: str
    is_chosen: bool


TEMPLATES = {
    "quota": LicenseTemplate("10,000 accesses a month", lambda start: Quota(10_000).as_fields()),
    "quota_then_charged": LicenseTemplate(
        "10,000 accesses a month, then 0.02 USD each",
        lambda start: {**PER_ACCESS, **Quota(10_000, Decimal("0.02"), "USD", Decimal(1000)).as_fields()},
    ),
    "per_access": LicenseTemplate("0.02 USD for each access", lambda start: {**PER_ACCESS}),
    "year": LicenseTemplate(
        "500 USD for a year",
        lambda start: {
            "price_amount": Decimal(500),
            "price_currency": "USD",
            "starts_at": start,
            "expires_at": add_months(start, 12, get_current_timezone()),
        },
    ),
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
        return cast("dict[str, str | list[str]]", {**initial, **template.fields(now)})  # a form takes any value

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

    chosen = request.GET.get(TEMPLATE)
    return [Choice(one.title, address(name), name == chosen) for name, one in TEMPLATES.items()]
