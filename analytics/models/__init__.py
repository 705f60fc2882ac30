"""What happened: decisions, the figures that they add up to, and money."""

from analytics.models.events import AccessEvent, RuleUsage
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
    "ExchangeRate",
    "HourlyUsage",
    "LedgerEntry",
    "RequesterMonth",
    "RequesterRevenue",
    "RequesterYear",
    "RuleUsage",
    "TierRevenue",
]
