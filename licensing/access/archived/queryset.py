"""Decisions of any accounts as a queryset: from the database and, before the horizon, from the archive."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from django.db.models import Count, QuerySet
from django.db.models.query import ModelIterable

from analytics.archive.horizon import horizon_cache, read_at_horizon
from analytics.archive.lookup import available_archive
from analytics.models import AccessEvent

if TYPE_CHECKING:
    from licensing.access.archived.queries import ArchivedQuery

ORDER_BY_ID, ORDER_BY_TIME = ("-pk",), ("-created", "-pk")


class HistoryQuerySet(QuerySet[AccessEvent]):
    """Newest first, in one of the two orders above, filtered by what `ArchivedQuery` translates."""

    @classmethod
    def covering(cls, events: QuerySet[AccessEvent]) -> "HistoryQuerySet":
        """Return the same query, which reads the archive, too."""
        return cls(events.model, query=events.query.chain())

    def _fetch_all(self) -> None:
        if self._result_cache is None and horizon_cache.current() is not None:
            self._result_cache = cast("list[Any]", read_at_horizon(self.read))
        super()._fetch_all()

    def read(self, horizon: datetime | None) -> list[AccessEvent]:
        order = tuple(dict.fromkeys(self.query.order_by))  # the admin repeats it
        is_possible = self._iterable_class is ModelIterable and order in ((), ORDER_BY_ID, ORDER_BY_TIME)
        low = self.query.low_mark
        high = self.query.high_mark
        recent = self.recent(horizon)
        found = list(recent[low:high])
        if horizon is not None and (high is None or len(found) < high - low):
            skipped = 0 if found or not low else max(low - recent.count(), 0)
            size = None if high is None else high - low - len(found)
            with self.archived(horizon) as older:
                if is_possible:
                    found += older.read(skipped, size, by_time=order == ORDER_BY_TIME)
                elif older.count(1):
                    raise NotImplementedError("The archive is read as decisions, newest first.")
        return found

    def count(self) -> int:
        return super().count() if self._result_cache is not None else read_at_horizon(self.count_both)

    def count_both(self, horizon: datetime | None) -> int:
        low = self.query.low_mark
        high = self.query.high_mark
        count = self.recent(horizon)[:high].count()
        if horizon is not None and (high is None or count < high):
            with self.archived(horizon) as older:
                count += older.count(None if high is None else high - count)
        return max(count - low, 0)

    def tally(self, field: str) -> Counter[object]:
        """Count the decisions by a field's value."""

        def read(horizon: datetime | None) -> Counter[object]:
            rows = self.recent(horizon).order_by().values_list(field).annotate(number=Count("pk"))
            found = Counter(dict(rows))
            if horizon is not None:
                with self.archived(horizon) as older:
                    found += older.tally(field)
            return found

        return read_at_horizon(read)

    def archived_among(self, ids: Sequence[str], horizon: datetime) -> list[str]:
        """Return those of these decisions that match and that only the archive has. The ids are sorted."""
        matching = self.filter(pk__gte=ids[0], pk__lte=ids[-1], pk__in=ids)
        with matching.archived(horizon) as older:
            return list(older.keys())

    def has_archived(self) -> bool:
        horizon = horizon_cache.current()
        if horizon is None:
            return False
        with self.archived(horizon) as older:
            return older.count(1) > 0

    def recent(self, horizon: datetime | None) -> QuerySet[AccessEvent]:
        """Return what the database has, without limits."""
        rows: QuerySet[AccessEvent] = QuerySet(self.model, query=self.query.chain())
        rows.query.clear_limits()
        return rows if horizon is None else rows.filter(created__gte=horizon)

    @contextmanager
    def archived(self, horizon: datetime) -> "Iterator[ArchivedQuery]":
        """Give what the archive has, without limits. Raises ServiceUnavailable."""
        with available_archive():
            from licensing.access.archived.queries import ArchivedQuery  # noqa: PLC0415 - needs an optional extra

            yield ArchivedQuery(self.query.where, horizon)
