"""List filters that use an index, and never show all rows for an invalid value."""

from collections.abc import Mapping
from datetime import date, datetime, time
from typing import ClassVar, Generic

from django.contrib.admin import FieldListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import F, Field, Model, QuerySet, Window
from django.db.models.functions import RowNumber
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_time
from django.utils.timezone import get_current_timezone
from unfold.contrib.filters.admin import (
    AutocompleteSelectFilter,
    DropdownFilter,
    FieldTextFilter,
    RangeDateTimeFilter,
)
from unfold.contrib.filters.forms import AutocompleteDropdownForm

from analytics.wallets.units import ACCESS
from kit.values.calendar import Months
from operators.base.figures.choice import MAX_ACCOUNTS, CalendarPeriod, common_months, offered_periods, parse_period
from operators.base.mixins import AdminMixin, ModelT
from operators.base.model_admin import ScopedAdmin
from operators.base.scope import ACCOUNT_LOOKUP, chosen_account_id, offered_accounts, request_scope


class OptionsFilter(DropdownFilter, Generic[ModelT]):
    """A filter with a few options; ignores other values."""

    options: ClassVar[Mapping[str, str]]  # values with their labels

    def lookups(self, request: HttpRequest, model_admin: AdminMixin[ModelT]) -> list[tuple[str, str]]:
        return list(self.options.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[ModelT]) -> QuerySet[ModelT]:
        value = self.value()
        return self.apply_option(queryset, value) if value in self.options else queryset

    def apply_option(self, queryset: QuerySet[ModelT], value: str) -> QuerySet[ModelT]:
        raise NotImplementedError


class ExactTextFilter(FieldTextFilter):
    """Matches the whole value; "contains" would read all rows."""

    def __init__(
        self,
        field: Field,
        request: HttpRequest,
        params: dict[str, list[str]],
        model: type[Model],
        model_admin: AdminMixin[ModelT],
        field_path: str,
    ) -> None:
        self.lookup_kwarg = field_path
        self.lookup_val = params.get(field_path)
        FieldListFilter.__init__(self, field, request, params, model, model_admin, field_path)

    def queryset(self, request: HttpRequest, queryset: QuerySet[ModelT]) -> QuerySet[ModelT]:
        value = (self.value() or "").strip()
        return queryset.filter(**{self.lookup_kwarg: value}) if value else queryset


def as_unit(text: str | None) -> str:
    """Return a currency in capital letters, or `access` in small ones."""
    unit = (text or "").strip().upper()
    return ACCESS if unit == ACCESS.upper() else unit


class UnitFilter(ExactTextFilter):
    """Matches a currency, or `access`, in capital or small letters."""

    def value(self) -> str:
        return as_unit(super().value())


class LocalDateTimeFilter(RangeDateTimeFilter):
    """A range of times in the operator's time zone; a day without a time means the whole day."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[ModelT]) -> QuerySet[ModelT]:
        since = self.moment("from", time.min)
        until = self.moment("to", time.max)
        if since is not None:
            queryset = queryset.filter(**self.at_least(since))
        if until is not None:
            queryset = queryset.filter(**self.at_most(until))
        return queryset

    def moment(self, end: str, otherwise: time) -> datetime | None:
        day_text = self.used_parameters.get(f"{self.parameter_name}_{end}_0")
        time_text = self.used_parameters.get(f"{self.parameter_name}_{end}_1")
        if not day_text and not time_text:
            return None
        try:
            day = parse_date(day_text or "")
            clock_time = parse_time(time_text) if time_text else otherwise
        except ValueError:
            raise IncorrectLookupParameters from None
        if day is None or clock_time is None or not 1971 <= day.year <= 9998:
            raise IncorrectLookupParameters
        return datetime.combine(day, clock_time, get_current_timezone())

    def at_least(self, moment: datetime) -> dict[str, object]:
        return {f"{self.parameter_name}__gte": moment}

    def at_most(self, moment: datetime) -> dict[str, object]:
        return {f"{self.parameter_name}__lte": moment}


class ScopedForm(AutocompleteDropdownForm):
    """A filter form limited to the operator's scope; unfold's own would reveal the name of any id."""

    def __init__(
        self, request: HttpRequest, name: str, *args: object, model_admin: AdminMixin[ModelT], **kwargs: object
    ) -> None:
        super().__init__(request, name, *args, model_admin=model_admin, **kwargs)
        field = self.fields[name]
        related_admin = model_admin.admin_site._registry.get(field.queryset.model)
        if isinstance(related_admin, ScopedAdmin):
            field.queryset = related_admin.get_queryset(request)
        else:
            field.queryset = field.queryset.none()


class RelatedFilter(AutocompleteSelectFilter):
    """Searches for a related object to filter by: `list_filter = (("account", RelatedFilter), …)`."""

    form_class = ScopedForm


def listed_months(request: HttpRequest) -> Months:
    """Return the months of the account that a list shows; of several accounts the months that they share."""
    account = request_scope(request).account(request.GET.get(ACCOUNT_LOOKUP) or chosen_account_id(request) or "")
    return common_months([account] if account is not None else offered_accounts(request, MAX_ACCOUNTS)[0])


class PeriodFilter(DropdownFilter):
    """Limits a list to a calendar period by the time in `field`. Ignores a value that names no period."""

    field: ClassVar[str]

    def lookups(self, request: HttpRequest, model_admin: AdminMixin[Model]) -> list[tuple[str, str]]:
        return offered_periods(listed_months(request), timezone.now())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        months = listed_months(request)
        period = parse_period(self.value() or "", months, timezone.now())
        if period is None:
            return queryset
        begin, end = self.field_bounds(period, months)
        return queryset.filter(**{f"{self.field}__gte": begin, f"{self.field}__lt": end})

    def field_bounds(self, period: CalendarPeriod, months: Months) -> tuple[date, date]:
        """Return the first value of `field` in the period, and the first after it."""
        return period.bounds(months)


class CountsInFilter(PeriodFilter):
    title, parameter_name, field = "counts in", "counts_in", "occurred_at"


class BookedInFilter(PeriodFilter):
    title, parameter_name, field = "booked in", "booked_in", "created"


LATEST = "latest"


class StatementPeriodFilter(PeriodFilter):
    """Limits statements to the months of a period, or, of the latest ones, to those up to its end."""

    title, parameter_name, field = "month", "month", "month"

    def field_bounds(self, period: CalendarPeriod, months: Months) -> tuple[date, date]:
        if self.request.GET.get(LatestFilter.parameter_name) == LATEST:
            return date.min, period.after
        return period.first, period.after


class LatestFilter(OptionsFilter[ModelT]):
    """Limits statements to the latest one of each customer and currency, which has what it owed. List it after the
    filter of the month.
    """

    title, parameter_name = "balances", "balances"
    options = {LATEST: "at the end of the month: each customer's latest statement up to it"}

    def apply_option(self, queryset: QuerySet[ModelT], value: str) -> QuerySet[ModelT]:
        holder = (F("account_id"), F("requester_id"), F("currency"))
        place = Window(RowNumber(), partition_by=holder, order_by=F("month").desc())
        latest = queryset.order_by().annotate(place=place).filter(place=1)
        return queryset.filter(pk__in=latest.values("pk"))
