"""Read what the archive has of a query about decisions."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from heapq import merge
from itertools import groupby, islice
from operator import attrgetter
from typing import NamedTuple

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Lookup, prefetch_related_objects
from django.db.models.expressions import Col
from django.db.models.fields.json import KeyTextTransform
from django.db.models.sql.where import AND, NothingNode, WhereNode

from analytics.archive.models import ArchivedMonth
from analytics.archive.reading import FIELDS, MILLISECOND, ArchivedRow, ArchiveQuery, Comparison, FactComparison
from analytics.models import AccessEvent
from kit.values import ids
from kit.values.timestamps import EPOCH, MICROSECOND
from licensing.access.archived.pagination import events_of
from licensing.access.selected_decisions import Window, listed_values
from licensing.database_lookups import BeginsWith

NAMES = {field: name for name, field in FIELDS.items()}  # columns by the model's fields
OPERATORS = {"exact": "eq", "in": "in", "gt": "gt", "gte": "gte", "lt": "lt", "lte": "lte", "isnull": "exists"}
RELATED = ("account", "content", "requester", "policy")
MILLISECOND_LENGTH = len("dec_") + 10  # characters of an id that are its millisecond
ID, TIME_AND_ID = attrgetter("id"), attrgetter("created", "id")


class DecisionKey(NamedTuple):
    id: str
    created: datetime
    account_id: str


class ArchivedQuery:
    """The archived decisions from before `horizon` that a query selects.

    Raises ValueError for a condition that the archive cannot filter by.
    """

    def __init__(self, where: WhereNode, horizon: datetime) -> None:
        self.accounts: set[str] | None = None  # None: all
        self.window, self.horizon = Window(), horizon
        self.comparisons: list[Comparison] = []
        self.facts: list[FactComparison] = []
        self.window.narrow("lt", horizon)
        self.add(where)

    def read(self, skipped: int, size: int | None, *, by_time: bool) -> list[AccessEvent]:
        """Return the first decisions behind those to be skipped, with what they refer to."""
        stop = None if size is None else skipped + size
        ordered, sort_key = (in_time, TIME_AND_ID) if by_time else (in_order_of_ids, ID)
        keys = list(islice(merge(*map(ordered, self.archive_queries()), key=sort_key, reverse=True), skipped, stop))
        rows = {row["id"]: row for row in rows_of(keys)}
        events = events_of([rows[key.id] for key in keys if key.id in rows])  # without those that were just purged
        prefetch_related_objects(events, *RELATED)
        return events

    def count(self, most: int | None) -> int:
        return sum(1 for _ in islice(self.keys(), most))

    def keys(self) -> Iterator[str]:
        """Yield the ids of the decisions."""
        return (str(position.key) for query in self.archive_queries() for position in query.positions())

    def tally(self, field: str) -> Counter[object]:
        return sum((query.tally(NAMES[field]) for query in self.archive_queries()), Counter())

    def archive_queries(self) -> Iterator[ArchiveQuery]:
        """Yield the part of each account."""
        end = self.window.end or self.horizon
        months = ArchivedMonth.objects.using(DEFAULT_DB_ALIAS).filter(month__lte=end.date())
        if self.accounts is not None:
            months = months.filter(account_id__in=self.accounts)
        for account_id in sorted(set(months.values_list("account_id", flat=True))):
            yield ArchiveQuery(account_id, self.window.begin, end, tuple(self.comparisons), tuple(self.facts))

    def add(self, node: object) -> None:
        if isinstance(node, NothingNode):
            self.accounts = set()
        elif isinstance(node, WhereNode) and node.connector == AND and not node.negated:
            for child in node.children:
                self.add(child)
        elif isinstance(node, Lookup) and isinstance(node.lhs, Col) and node.lookup_name in OPERATORS:
            operator = OPERATORS[node.lookup_name]
            value = list(node.rhs) if operator == "in" else node.rhs
            self.add_comparison(node.lhs.target.attname, operator, not value if operator == "exists" else value)
        else:
            self.facts.append(comparison_of_fact(node))

    def add_comparison(self, field: str, operator: str, value: object) -> None:
        if field == "account_id":
            account_ids = set(listed_values(value))
            self.accounts = account_ids if self.accounts is None else self.accounts & account_ids
            return
        self.comparisons.append(Comparison(NAMES[field], operator, value))
        if field == "created" and isinstance(value, datetime):
            self.window.narrow(operator, value)
        elif field == "id" and isinstance(value, str):
            begin = self.millisecond_of(value)
            if operator in ("eq", "gt", "gte"):
                self.window.narrow("gte", begin)
            if operator in ("eq", "lt", "lte"):
                self.window.narrow("lt", begin + MILLISECOND)

    def millisecond_of(self, id: str) -> datetime:
        """Return when the decision was made, or the horizon if that is earlier."""
        raw = ids.decode("dec", id)
        if raw is None:
            raise ValueError(f"{id!r} is no id of a decision.")
        until = (self.horizon - EPOCH) // MILLISECOND
        return EPOCH + min(int.from_bytes(raw[:6]), until) * MILLISECOND


def comparison_of_fact(node: object) -> FactComparison:
    """Translate a condition on the facts: that one is there, is or begins with one of several texts."""
    if not isinstance(node, Lookup):
        raise ValueError("The archive cannot filter by this.")  # noqa: TRY004 - of a filter, as below
    if node.lookup_name == "has_key":
        return FactComparison(node.rhs, ("",), is_prefix=True)
    is_prefix = isinstance(node, BeginsWith)
    if not isinstance(node.lhs, KeyTextTransform) or not (is_prefix or node.lookup_name in ("exact", "in")):
        raise ValueError("The archive cannot filter by this.")
    texts = [node.rhs] if node.lookup_name == "exact" else list(node.rhs)
    return FactComparison(node.lhs.key_name, tuple(texts), is_prefix=is_prefix)


def in_time(query: ArchiveQuery) -> Iterator[DecisionKey]:
    """Yield decisions by time and id, newest first: the archive's own order."""
    return (DecisionKey(str(position.key), position.value, query.account_id) for position in query.positions())


def in_order_of_ids(query: ArchiveQuery) -> Iterator[DecisionKey]:
    """Yield decisions by id, newest first. This is another order within a millisecond."""
    for _, same in groupby(in_time(query), key=lambda decision: decision.id[:MILLISECOND_LENGTH]):
        yield from sorted(same, key=ID, reverse=True)


def rows_of(decisions: Sequence[DecisionKey]) -> Iterator[ArchivedRow]:
    """Yield the decisions with all columns, in no order."""
    moments: dict[str, dict[str, datetime]] = {}
    for decision in decisions:
        moments.setdefault(decision.account_id, {})[decision.id] = decision.created
    for account_id, moments_by_id in moments.items():
        end = max(moments_by_id.values()) + MICROSECOND
        query = ArchiveQuery(
            account_id, min(moments_by_id.values()), end, (Comparison("id", "in", list(moments_by_id)),)
        )
        yield from query.read(len(moments_by_id), descending=True)
