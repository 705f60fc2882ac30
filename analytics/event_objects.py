"""Register the event objects of ledger entries and of access summaries."""

from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from accounts.events import clock, deadlines
from accounts.events.objects import register, register_plain
from analytics.events import summaries
from analytics.examples import ADJUSTMENT
from analytics.ledger.serializers import LedgerEntrySerializer
from analytics.wallets.examples import GRANT, WALLET
from analytics.wallets.models import Grant, GrantKind
from analytics.wallets.rows import grants_as_of
from analytics.wallets.serializers import GrantSerializer, WalletSerializer
from kit.values.json_values import Rendered


def grants_that_end(after: datetime, until: datetime) -> QuerySet[Grant]:
    """Refills aside: they end with each period."""
    counting = Grant.objects.filter(started=True, ended_at__isnull=True, remaining__gt=0, wallet__balance__gt=0)
    return counting.filter(expires_at__gt=after, expires_at__lte=until).exclude(kind=GrantKind.REFILL)


class EndingGrantSerializer(GrantSerializer):
    """A grant with what is left of it now."""

    def to_representation(self, grant: Grant) -> Rendered:
        [current] = grants_as_of(grant.wallet, [grant], timezone.now())
        return super().to_representation(current)


register("wallet", WalletSerializer(), WALLET)
register("grant", EndingGrantSerializer(), GRANT)
deadlines.register(
    "grant", grants_that_end, "created", *deadlines.warnings_before("grant", timedelta(days=7), timedelta(days=1))
)
register("ledger_entry", LedgerEntrySerializer(), ADJUSTMENT)
register_plain("access_summary", summaries.EXAMPLE)
clock.register(summaries.tell, summaries.EVERY)
