"""What happened: decisions, the figures that they add up to, and money."""

from analytics.models.events import AccessEvent, EventHorizon, RuleUsage
from analytics.models.recent import RecentRevenue, RecentUsage
from analytics.models.revenue import (
    ContentRevenue,
    EntryType,
    ExchangeRate,
    LedgerEntry,
    RequesterRevenue,
    TierRevenue,
)
from analytics.models.usage import ContentMonth, ContentYear, HourlyUsage, RequesterMonth, RequesterYear

__all__ = [
    "AccessEvent",
    "ContentMonth",
    "ContentRevenue",
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
    "RequesterYear",
    "RuleUsage",
    "TierRevenue",
]
