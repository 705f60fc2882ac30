"""Filters of lists that an index can answer, and that never show everything for something mistyped."""

from datetime import UTC, datetime, time
from typing import Any

from django.contrib.admin import FieldListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.dateparse import parse_date, parse_time
from unfold.contrib.filters.admin import AutocompleteSelectFilter, FieldTextFilter, RangeDateTimeFilter
from unfold.contrib.filters.forms import AutocompleteDropdownForm

from operators.base.model_admin import ScopedAdmin


class ExactTextFilter(FieldTextFilter):
    """The whole value; "contains" would read all rows."""

    def __init__(
        self, field: Any, request: Any, params: dict[str, Any], model: Any, model_admin: Any, field_path: str
    ) -> None:
        self.lookup_kwarg = field_path
        self.lookup_val = params.get(field_path)
        FieldListFilter.__init__(self, field, request, params, model, model_admin, field_path)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = (self.value() or "").strip()
        return queryset.filter(**{self.lookup_kwarg: value}) if value else queryset


class MomentFilter(RangeDateTimeFilter):
    """From one moment to another, UTC; a day without a time means all of that day."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        since, until = self.moment("from", time.min), self.moment("to", time.max)
        if since is not None:
            queryset = queryset.filter(**self.at_least(since))
        return queryset if until is None else queryset.filter(**self.at_most(until))

    def moment(self, end: str, otherwise: time) -> datetime | None:
        day, at = (self.used_parameters.get(f"{self.parameter_name}_{end}_{part}") for part in (0, 1))
        if not day and not at:
            return None
        try:
            parsed = parse_date(day or ""), parse_time(at) if at else otherwise
        except ValueError:
            parsed = None, None
        if parsed[0] is None or parsed[1] is None or not 1971 <= parsed[0].year <= 9998:
            raise IncorrectLookupParameters
        return datetime.combine(parsed[0], parsed[1], UTC)

    def at_least(self, moment: datetime) -> dict[str, Any]:
        return {f"{self.parameter_name}__gte": moment}

    def at_most(self, moment: datetime) -> dict[str, Any]:
        return {f"{self.parameter_name}__lte": moment}


class ScopedForm(AutocompleteDropdownForm):
    """Knows what the member of staff may see and nothing else: unfold's shows the name of whatever id it is given."""

    def __init__(self, request: HttpRequest, name: str, *args: Any, model_admin: Any, **kwargs: Any) -> None:
        super().__init__(request, name, *args, model_admin=model_admin, **kwargs)
        field: Any = self.fields[name]
        shown = model_admin.admin_site._registry.get(field.queryset.model)
        field.queryset = shown.get_queryset(request) if isinstance(shown, ScopedAdmin) else field.queryset.none()


class RelatedFilter(AutocompleteSelectFilter):
    """Searches for the one related thing to filter by: `list_filter = (("account", RelatedFilter), …)`."""

    form_class = ScopedForm
