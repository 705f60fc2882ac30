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
        names = {name for one, value in given if one.of == "requesterId" for name in members(value)}
        return cls(account_id, given, numbers_with_merged(account_id, names) if names else {})

    def filter(self, events: QuerySet[AccessEvent], given: Iterable[Given] | None = None) -> QuerySet[AccessEvent]:
        """Apply all filters, or only those `given`."""
        if given is None:
            outcomes = self.outcomes()
            if not outcomes:
                return events.none()
            if outcomes == REASONS:
                events = events.filter(reason__isnull=False)  # skips blocks without a denial
            elif ALLOWED not in outcomes:
                events = events.filter(reason__in=sorted(outcomes))  # skips blocks without one of these
        for one, value in self.given if given is None else given:
            if one.of != "requesterId":
                events = one.filter(events, value)
            elif one.operator == "ne":
                events = events.exclude(requester_id__in=self.numbers_of(value))
            else:
                events = events.filter(requester_id__in=self.numbers_of(value))
        return events

    def outcomes(self) -> set[str]:
        """Return the outcomes that the filters leave.

        PostgreSQL does not know that only denials have a reason, and would read all allowed decisions to find none.
        """
        left = {ALLOWED, *REASONS}
        for one, value in self.given:
            if one.of in ("allowed", "reason"):
                selected = outcomes_of(one, value)
                left = left.difference(selected.names) if selected.are_excluded else left.intersection(selected.names)
        return left

    def numbers_of(self, value: object) -> list[int]:
        return [number for name in members(value) for number in self.numbers.get(name, ())]

    def counted_by_rollups(self) -> Selection | None:
        """Return the selection for the rollups.

        None if rollups cannot count it: filters by policy, or by more than one of outcome, item and requester.
        """
        window = Window()
        outcomes: list[Outcomes] = []
        keys: dict[Subject, Members] = {}
        for one, value in self.given:
            if one.of in KEYS:
                values = self.numbers_of(value) if one.of == "requesterId" else members(value)
                keys.setdefault(KEYS[one.of], Members()).narrow(values, are_excluded=one.operator == "ne")
            elif one.of == "created" and isinstance(value, datetime) and one.operator != "ne":
                window.narrow(one.operator, value)
            elif one.of in ("allowed", "reason"):
                outcomes.append(outcomes_of(one, value))
            else:
                return None
        if not window.is_usual or len(keys) + bool(outcomes) > 1:
            return None
        chosen = next((of.keys(one) for one, of in keys.items()), None)
        return Selection(self.account_id, window.begin, window.end, tuple(outcomes), chosen)


def members(value: object) -> list[str]:
    return cast("list[str]", value if isinstance(value, list) else [value])


def outcomes_of(one: OperatorFilter, value: object) -> Outcomes:
    """Return the outcomes selected by a filter by `allowed` or `reason`. Only denials have a reason."""
    if one.of == "reason":
        if one.operator == "exists":
            return Outcomes((ALLOWED,), are_excluded=bool(value))
        return Outcomes(tuple(members(value)), are_excluded=one.operator == "ne")
    wanted = {bool(found) for found in (value if isinstance(value, list) else [value])}
    if one.operator == "ne":
        wanted = {True, False} - wanted
    if len(wanted) == 2:
        return Outcomes((), are_excluded=True)
    return Outcomes((ALLOWED,), are_excluded=False in wanted)


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

    def keys(self, one: Subject) -> Keys:
        if self.included is None:
            return Keys(one, tuple(self.excluded), are_excluded=True)
        return Keys(one, tuple(self.included - self.excluded))


def numbers_with_merged(account_id: str, requester_ids: Iterable[str]) -> dict[str, list[int]]:
    """Return the primary keys of each requester and of those merged into it, by requester id."""
    owned = Requester.objects.filter(account_id=account_id, requester_id__in=set(requester_ids))
    own = dict(owned.values_list("pk", "requester_id"))
    numbers = {name: [number] for number, name in own.items()}
    for merged in Requester.objects.filter(merged_into__in=own).only("merged_into_id"):
        numbers[own[merged.merged_into_id or 0]].append(merged.pk)
    return numbers
