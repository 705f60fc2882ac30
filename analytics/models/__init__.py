"""Models of decisions, rollups, revenue, statements and wallets."""

from analytics.archive.models import ArchivedMonth, ArchiveHorizon
from analytics.models.entries import BalanceChange, Entry
from analytics.models.events import AccessEvent, EventHorizon, RuleUsage
from analytics.models.pending import RecentRevenue, RecentUsage
from analytics.models.revenue import (
    ContentRevenue,
    ContentRevenueYear,
    EntryType,
    ExchangeRate,
    LedgerEntry,
    RequesterRevenue,
    RequesterRevenueYear,
    TierRevenue,
)
from analytics.models.statements import (
    ClosedLine,
    ClosedStatement,
    Statement,
    StatementBook,
    StatementLine,
)
from analytics.models.usage import ContentMonth, ContentYear, HourlyUsage, RequesterMonth, RequesterYear
from analytics.payments.models import Payment
from analytics.wallets.models import Grant, Wallet, WalletEntry
