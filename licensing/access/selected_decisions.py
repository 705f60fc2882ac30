"""Select decisions by a list's filters: as a query, and as a count from the rollups where possible."""

from collections.abc import Iterable
from datetime import datetime
from typing import cast

from django.db.models import QuerySet
from django.http import QueryDict
from msgspec import Struct, field

from analytics.models import AccessEvent
from analytics.usage.matching import ALLOWED, Keys, Outcomes, Selection, Subject
from analytics.windows import MICROSECOND, YEARS
from kit.rest.filters import OperatorFilter, given_filters
from kit.rest.lists.mixin import Given
from licensing.access.filters import DecisionFilters
from licensing.policies.decision import Reason
from licensing.requesters.models import Requester

REASONS = frozenset(map(str, Reason))
KEYS: dict[str, Subject] = {"contentId": "content", "requesterId": "requester"}


class SelectedDecisions(Struct, frozen=True):
    """The filters of a request. Requesters are resolved to primary keys, so PostgreSQL can plan by their frequency."""

    account_id: str
    given: tuple[Given, ...]
    # Primary keys of the filtered requesters, including those merged into them.
    numbers: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def from_query(cls, account_id: str, query: QueryDict) -> "SelectedDecisions":
        """Parse the filters. Raises InvalidRequest."""
        given = tuple(given_filters(DecisionFilters, query))
        names = {
            name for row_filter, value in given if row_filter.of == "requesterId" for name in listed_values(value)
        }
        return cls(account_id, given, numbers_with_merged(account_id, names) if names else {})

    def filter(self, events: QuerySet[AccessEvent], filters: Iterable[Given] | None = None) -> QuerySet[AccessEvent]:
        """Apply all filters, or only these."""
        if filters is None:
            outcomes = self.outcomes()
            if not outcomes:
                return events.none()
            if outcomes == REASONS:
                events = events.filter(reason__isnull=False)  # skips blocks without a denial
            elif ALLOWED not in outcomes:
                events = events.filter(reason__in=sorted(outcomes))  # skips blocks without one of these
        for row_filter, value in self.given if filters is None else filters:
            if row_filter.of != "requesterId":
                events = row_filter.filter(events, value)
            elif row_filter.operator == "ne":
                events = events.exclude(requester_id__in=self.numbers_of(value))
            else:
                events = events.filter(requester_id__in=self.numbers_of(value))
        return events

    def outcomes(self) -> set[str]:
        """Return the outcomes that the filters leave.

        PostgreSQL does not know that only denials have a reason, and would read all allowed decisions to find none.
        """
        remaining = {ALLOWED, *REASONS}
        for row_filter, value in self.given:
            if row_filter.of in ("allowed", "reason"):
                selected = outcomes_of(row_filter, value)
                remaining = (
                    remaining.difference(selected.names)
                    if selected.are_excluded
                    else remaining.intersection(selected.names)
                )
        return remaining

    def numbers_of(self, value: object) -> list[int]:
        return [number for name in listed_values(value) for number in self.numbers.get(name, ())]

    def counted_by_rollups(self) -> Selection | None:
        """Return the selection for the rollups.

        None if rollups cannot count it: filters by policy, or by more than one of outcome, item and requester.
        """
        window = Window()
        outcomes: list[Outcomes] = []
        keys: dict[Subject, Members] = {}
        for row_filter, value in self.given:
            if row_filter.of in KEYS:
                values = self.numbers_of(value) if row_filter.of == "requesterId" else listed_values(value)
                keys.setdefault(KEYS[row_filter.of], Members()).narrow(
                    values, are_excluded=row_filter.operator == "ne"
                )
            elif row_filter.of == "created" and isinstance(value, datetime) and row_filter.operator != "ne":
                window.narrow(row_filter.operator, value)
            elif row_filter.of in ("allowed", "reason"):
                outcomes.append(outcomes_of(row_filter, value))
            else:
                return None
        if not window.is_usual or len(keys) + bool(outcomes) > 1:
            return None
        chosen = next((of.keys(row_filter) for row_filter, of in keys.items()), None)
        return Selection(self.account_id, window.begin, window.end, tuple(outcomes), chosen)


def listed_values(value: object) -> list[str]:
    return cast("list[str]", value if isinstance(value, list) else [value])


def outcomes_of(row_filter: OperatorFilter, value: object) -> Outcomes:
    """Return the outcomes selected by a filter by `allowed` or `reason`. Only denials have a reason."""
    if row_filter.of == "reason":
        if row_filter.operator == "exists":
            return Outcomes((ALLOWED,), are_excluded=bool(value))
        return Outcomes(tuple(listed_values(value)), are_excluded=row_filter.operator == "ne")
    allowed_values = {bool(allowed) for allowed in (value if isinstance(value, list) else [value])}
    if row_filter.operator == "ne":
        allowed_values = {True, False} - allowed_values
    if len(allowed_values) == 2:
        return Outcomes((), are_excluded=True)
    return Outcomes((ALLOWED,), are_excluded=False in allowed_values)


class Window:
    """The time range that `created` filters select."""

    def __init__(self) -> None:
        self.begin: datetime | None = None
        self.end: datetime | None = None
        self.is_usual = True  # whether all moments lie in YEARS, so date arithmetic cannot overflow

    def narrow(self, operator: str, moment: datetime) -> None:
        if moment.year not in YEARS:
            self.is_usual = False
            return
        if operator in ("eq", "gte", "gt"):
            begin = moment + MICROSECOND if operator == "gt" else moment
            self.begin = begin if self.begin is None else max(self.begin, begin)
        if operator in ("eq", "lt", "lte"):
            end = moment if operator == "lt" else moment + MICROSECOND
            self.end = end if self.end is None else min(self.end, end)


class Members:
    """The values that filters on one field select. `included` None means all except `excluded`."""

    def __init__(self) -> None:
        self.included: set[str | int] | None = None
        self.excluded: set[str | int] = set()

    def narrow(self, values: Iterable[str | int], *, are_excluded: bool) -> None:
        if are_excluded:
            self.excluded.update(values)
        else:
            self.included = set(values) if self.included is None else self.included & set(values)

    def keys(self, subject: Subject) -> Keys:
        if self.included is None:
            return Keys(subject, tuple(self.excluded), are_excluded=True)
        return Keys(subject, tuple(self.included - self.excluded))


def numbers_with_merged(account_id: str, requester_ids: Iterable[str]) -> dict[str, list[int]]:
    """Return the primary keys of each requester and of those merged into it, by requester id."""
    requesters = Requester.objects.filter(account_id=account_id, requester_id__in=set(requester_ids))
    names = dict(requesters.values_list("pk", "requester_id"))
    numbers = {name: [number] for number, name in names.items()}
    for merged in Requester.objects.filter(merged_into__in=names).only("merged_into_id"):
        numbers[names[merged.merged_into_id or 0]].append(merged.pk)
    return numbers
