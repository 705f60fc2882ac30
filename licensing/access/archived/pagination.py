"""Decisions that only the archive has: as part of a list, and by id.

What reads the archive is imported when it is needed, because its packages are an optional extra.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, cast

from django.db import DEFAULT_DB_ALIAS
from django.db.models import QuerySet
from msgspec.structs import replace

from analytics.archive.horizon import read_at_horizon
from analytics.archive.lookup import available_archive, find_archived_decision
from analytics.models import AccessEvent
from analytics.usage.matching import Selection, count_matching
from kit.rest.lists.counting import Total
from kit.rest.lists.orders import Order, Position
from kit.rest.lists.windows import M, WindowedPagination
from kit.values.canonical_pages import both_schemes
from licensing.access.selected_decisions import SelectedDecisions, Window, listed_values
from licensing.policies.facts import kept_by_erasure
from licensing.requesters.models import Requester

if TYPE_CHECKING:
    from analytics.archive.reading import ArchivedRow, ArchiveQuery

# Columns of the archive by the names of filters.
COLUMNS = {
    "contentId": "content",
    "policyId": "policy",
    "allowed": "allowed",
    "reason": "reason",
    "created": "created",
}


class HistoryPagination(WindowedPagination):
    """Reads a list of decisions from the database and, before the horizon, from the archive."""

    selected: SelectedDecisions

    def read(self, rows: QuerySet[M], order: Order, size: int, after: Position | None = None) -> list[M]:
        return read_at_horizon(lambda horizon: self.read_both(rows, order, size, after, horizon))

    def read_both(
        self, rows: QuerySet[M], order: Order, size: int, after: Position | None, horizon: datetime | None
    ) -> list[M]:
        if horizon is None:
            return super().read(rows, order, size, after)
        recent = rows.filter(created__gte=horizon)
        if order.descending:
            is_archived = after is not None and after.value < horizon
            matches = [] if is_archived else super().read(recent, order, size, after)
            if len(matches) < size:
                older = read_archive(
                    self.selected, horizon, order, size - len(matches), after if is_archived else None
                )
                matches += cast("list[M]", older)
            return matches
        is_recent = after is not None and after.value >= horizon
        matches = [] if is_recent else cast("list[M]", read_archive(self.selected, horizon, order, size, after))
        if len(matches) < size:
            matches += super().read(recent, order, size - len(matches), after if is_recent else None)
        return matches


def read_archive(
    selected: SelectedDecisions, horizon: datetime, order: Order, size: int, after: Position | None
) -> list[AccessEvent]:
    with available_archive():
        rows = archive_query(selected, horizon).read(size, descending=order.descending, after=after)
    return events_of(rows)


def count_archive(selected: SelectedDecisions, horizon: datetime, seconds: float) -> Total:
    with available_archive():
        return archive_query(selected, horizon).count(seconds)


def count_by_rollups(
    selected: SelectedDecisions, selection: Selection, horizon: datetime | None, seconds: float
) -> Total:
    """Count by the rollups, which have the archived decisions, too, and in the archive only parts of hours or days.

    Raises TookTooLong.
    """
    if horizon is None:
        return Total(count_matching(selection, seconds))
    inner, edges = selection.without_edges(horizon)
    number, is_exact = count_matching(inner, seconds), True
    for begin, end in edges:
        with available_archive():
            part = replace(archive_query(selected, horizon), begin=begin, end=end).count(seconds)
        number, is_exact = number + part.number, is_exact and part.is_exact
    return Total(number, is_exact)


def find_archived(account_id: str, id: str) -> AccessEvent | None:
    """Return the decision if only the archive has it."""
    row = find_archived_decision(account_id, id)
    return None if row is None else events_of([row])[0]


def archive_query(selected: SelectedDecisions, horizon: datetime) -> "ArchiveQuery":
    """Return the archived decisions that pass the list's filters."""
    from analytics.archive.reading import ArchiveQuery, Comparison, FactComparison  # noqa: PLC0415

    window = Window()
    comparisons: list[Comparison] = []
    facts: list[FactComparison] = []
    for row_filter, value in selected.given:
        if row_filter.of == "created" and isinstance(value, datetime) and row_filter.operator != "ne":
            window.narrow(row_filter.operator, value)
        if row_filter.of == "requesterId":
            operator = "ne" if row_filter.operator == "ne" else "in"
            comparisons.append(Comparison("requester", operator, selected.numbers_of(value)))
        elif row_filter.of in COLUMNS:
            comparisons.append(Comparison(COLUMNS[row_filter.of], row_filter.operator, value))
        elif value or row_filter.operator != "prefix":  # every decision begins with nothing
            texts = {text for member in listed_values(value) for text in texts_of(row_filter.of, member)}
            facts.append(
                FactComparison(row_filter.of, tuple(sorted(texts)), is_prefix=row_filter.operator == "prefix")
            )
    end = horizon if window.end is None else min(horizon, window.end)
    return ArchiveQuery(selected.account_id, window.begin, end, tuple(comparisons), tuple(facts))


def texts_of(fact: str, text: str) -> set[str]:
    return both_schemes(text) if fact == "url" else {text}


def events_of(rows: "Sequence[ArchivedRow]") -> list[AccessEvent]:
    """Build the decisions with their requesters. Facts that an erasure removes are left out at once."""
    requesters = Requester.objects.in_bulk({values["requester_id"] for values in rows})
    events = []
    for values in rows:
        number, former = cast("int", values["requester_id"]), str(values.pop("requester__requester_id"))
        requester = requesters.get(number) or Requester(pk=number, requester_id=former)
        event = AccessEvent.from_db(DEFAULT_DB_ALIAS, list(values), list(values.values()))
        event.requester = requester
        if requester.is_erased:
            event.facts = kept_by_erasure(event.facts)
        events.append(event)
    return events
