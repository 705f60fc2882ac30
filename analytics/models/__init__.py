"""What happened: decisions, the figures that they add up to, and money."""

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
from analytics.models.usage import ContentMonth, ContentYear, HourlyUsage, RequesterMonth, RequesterYear

__all__ = [
    "AccessEvent",
    "ContentMonth",
    "ContentRevenue",
    "ContentRevenueYear",
    "ContentYear",
    "EntryType",
    "EventHorizon",
    "ExchangeRate",
    "HourlyUsage",
    "LedgerEntry",
    "RecentRevenue",
    "RecentUsage",
    "RequesterMonth",
    "RequesterRevenue",
    "RequesterRevenueYear",
    "RequesterYear",
    "RuleUsage",
    "TierRevenue",
]
