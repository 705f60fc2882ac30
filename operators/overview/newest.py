"""The newest decisions of a window, for figures without an index."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.db import connection
from django.db.models import Expression, F, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, TruncSecond

from analytics.events.partitions import first_id
from analytics.models import AccessEvent
from analytics.windows import DAY, Window
from kit.values import ids

MOST_SCANNED = 10_000  # newest decisions to search


def newest_decisions(
    account_ids: Sequence[str], window: Window, limit: int
) -> tuple[QuerySet[AccessEvent], Expression | Subquery]:
    """Return the accounts' decisions among the newest `limit`, and since when they count: null for the whole window.

    For one account these are its own, by index; for several, the newest of all accounts, so that busy other accounts
    cost no more.
    """
    first = ids.encode("dec", first_id(window.start - DAY).bytes)
    events = AccessEvent.objects.filter(pk__gte=first, created__gte=window.start, created__lt=window.end)
    own = events.filter(account_id__in=list(account_ids))
    in_order = own.order_by("-created", "-pk") if len(account_ids) == 1 else events.order_by("-pk")
    second = timedelta(seconds=1)
    oldest = in_order[limit - 1 : limit]
    since: Expression | Subquery = TruncSecond(Subquery(oldest.values("created")) + second, tzinfo=UTC)
    if connection.vendor == "sqlite":  # within the subquery: outside, Django's function runs for each decision
        rounded = in_order.annotate(rounded=TruncSecond(F("created") + second, tzinfo=UTC))
        since = Subquery(rounded.values("rounded")[limit - 1 : limit])
    bounded = own.filter(
        created__gte=Coalesce(since, Value(window.start)),
        pk__gte=Coalesce(Subquery(oldest.values("pk")), Value(first, output_field=AccessEvent._meta.pk)),
    )
    return bounded, since


def newest_since(account_ids: Sequence[str], since: datetime, limit: int) -> QuerySet[AccessEvent]:
    """Return the accounts' newest `limit` decisions since a time, and those of the same moment as the oldest."""
    first = ids.encode("dec", first_id(since - DAY).bytes)
    recent = AccessEvent.objects.filter(account_id__in=account_ids, created__gte=since, pk__gte=first)
    if len(account_ids) == 1:
        oldest = recent.order_by("-created", "-pk").values("created")[limit - 1 : limit]
        return recent.filter(created__gte=Coalesce(Subquery(oldest), Value(since)))
    key = recent.order_by("-pk").values("pk")[limit - 1 : limit]
    return recent.filter(pk__gte=Coalesce(Subquery(key), Value(first, output_field=AccessEvent._meta.pk)))
