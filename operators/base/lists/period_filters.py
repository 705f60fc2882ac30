"""Filters of a list by calendar months, quarters and years of the account."""

from typing import ClassVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import DropdownFilter

from kit.values.calendar import Months
from operators.base.chosen_account import FILTER, chosen_id, offered_accounts
from operators.base.figures.calendar_periods import common_months, offered_periods, parse_period
from operators.base.figures.choice import MOST_ACCOUNTS
from operators.base.mixins import AdminMixin
from operators.base.scope import request_scope


def listed_months(request: HttpRequest) -> Months:
    """Return the months of the account that a list shows; of several accounts the months that they share."""
    account = request_scope(request).account(request.GET.get(FILTER) or chosen_id(request) or "")
    return common_months([account] if account is not None else offered_accounts(request, MOST_ACCOUNTS)[0])


class PeriodFilter(DropdownFilter):
    """Limits a list to a calendar period by the time in `field`. Ignores what is no period."""

    field: ClassVar[str]

    def lookups(self, request: HttpRequest, model_admin: AdminMixin[Model]) -> list[tuple[str, str]]:
        return offered_periods(listed_months(request), timezone.now())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        months = listed_months(request)
        period = parse_period(self.value() or "", months, timezone.now())
        if period is None:
            return queryset
        begin, end = period.bounds(months)
        return queryset.filter(**{f"{self.field}__gte": begin, f"{self.field}__lt": end})


class CountsInFilter(PeriodFilter):
    title, parameter_name, field = "counts in", "counts_in", "occurred_at"


class BookedInFilter(PeriodFilter):
    title, parameter_name, field = "booked in", "booked_in", "created"


class StatementPeriodFilter(PeriodFilter):
    """Limits statements to the months of a period."""

    title, parameter_name, field = "month", "month", "month"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        period = parse_period(self.value() or "", listed_months(request), timezone.now())
        return queryset if period is None else queryset.filter(month__gte=period.first, month__lt=period.after)
