"""The newest decisions of a window, for figures without an index."""

from collections.abc import Sequence
from datetime import UTC, timedelta

from django.db.models import Expression, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, TruncSecond

from analytics.events.partitions import first_id
from analytics.models import AccessEvent
from analytics.windows import DAY, Window
from kit.values import ids

MOST_SCANNED = 10_000  # newest decisions to search


def newest_decisions(
    account_ids: Sequence[str], window: Window, limit: int
) -> tuple[QuerySet[AccessEvent], Expression]:
    """Return the accounts' decisions among the newest `limit`, and the expression of the time since when they count.

    For one account these are its own, by index; for several, the newest of all accounts, so that busy other accounts
    cost no more.
    """
    first = ids.encode("dec", first_id(window.start - DAY).bytes)
    events = AccessEvent.objects.filter(pk__gte=first, created__gte=window.start, created__lt=window.end)
    own = events.filter(account_id__in=list(account_ids))
    in_order = own.order_by("-created", "-pk") if len(account_ids) == 1 else events.order_by("-pk")
    oldest = in_order[limit - 1 : limit]
    # The truncation goes last, because it makes the time of PostgreSQL one of UTC.
    since = TruncSecond(Subquery(oldest.values("created")) + timedelta(seconds=1), tzinfo=UTC)
    bounded = own.filter(
        created__gte=Coalesce(since, Value(window.start)),
        pk__gte=Coalesce(Subquery(oldest.values("pk")), Value(first, output_field=AccessEvent._meta.pk)),
    )
    return bounded, since
