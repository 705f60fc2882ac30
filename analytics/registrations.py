"""Registers objects and deadlines of events, bookings of credit, periodic tasks and signal receivers."""

from collections.abc import Sequence
from datetime import timedelta

from django.utils import timezone

from accounts.events import deadlines, periodic_tasks
from accounts.events.recording import register, register_plain
from accounts.plans.services import time_zone_changed
from analytics.events import access_summaries
from analytics.events.retention import before_removal
from analytics.examples import ADJUSTMENT
from analytics.ledger.due import credit_bookers
from analytics.ledger.serializers import LedgerEntrySerializer
from analytics.payments.examples import PAYMENT
from analytics.payments.serializers import PaymentSerializer
from analytics.wallets.examples import GRANT, WALLET
from analytics.wallets.models import Grant, GrantKind, Wallet
from analytics.wallets.serializers import GrantSerializer, WalletSerializer
from analytics.wallets.stored_books import grants_as_of
from analytics.wallets.upkeep import follow_zone, settle_wallets


def grants_with_credit(grants: Sequence[Grant]) -> list[Grant]:
    """Return the grants that have credit left now: their rows may not say yet what was spent of them."""
    by_wallet: dict[Wallet, list[Grant]] = {}
    for grant in grants:
        by_wallet.setdefault(grant.wallet, []).append(grant)
    now = timezone.now()
    current: list[Grant] = []
    for wallet, wallet_grants in by_wallet.items():
        current += grants_as_of(wallet, wallet_grants, now)
    return [grant for grant in current if grant.remaining]


time_zone_changed.connect(follow_zone)
credit_bookers.append(settle_wallets)
register("wallet", WalletSerializer(), WALLET)
register("grant", GrantSerializer(), GRANT)
counting = Grant.objects.filter(started=True, ended_at__isnull=True, remaining__gt=0, wallet__balance__gt=0)
deadlines.register(
    "grant",
    # Without refills, which end with each period.
    deadlines.ExpiringKind(
        counting.exclude(kind=GrantKind.REFILL).select_related("wallet"), "created", grants_with_credit
    ),
    *deadlines.warnings_before("grant", timedelta(days=7), timedelta(days=1)),
)
register("ledger_entry", LedgerEntrySerializer(), ADJUSTMENT)
register("payment", PaymentSerializer(), PAYMENT)
register_plain("access_summary", access_summaries.EXAMPLE)
periodic_tasks.register(access_summaries.write_due_summaries, access_summaries.RUN_INTERVAL)
before_removal.connect(access_summaries.write_summaries_before)
