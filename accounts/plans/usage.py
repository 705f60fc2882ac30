"""How much of their plans accounts have used, without counting a request."""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from accounts.limits.limiter import limiter
from accounts.limits.windows import edge_hit, plan_hit
from accounts.plans.models import Account

NEAR_LIMIT_SHARE = Fraction(4, 5)


class WindowUse(Struct, frozen=True):
    """The requests used in a plan's window, and its limit."""

    count: int
    limit: int

    @property
    def share(self) -> Fraction:
        return Fraction(self.count, self.limit)


class PlanUse(Struct, frozen=True):
    minute: WindowUse  # the UTC minute
    day: WindowUse  # the UTC day
    edge_minute: WindowUse  # questions of proxies, which may exceed their limit
    edge_day: WindowUse

    @property
    def share(self) -> Fraction:
        """Return the used share of the fullest window."""
        return max(self.minute.share, self.day.share, self.edge_minute.share, self.edge_day.share)

    @property
    def is_over_at_edge(self) -> bool:
        """Whether the proxies have asked more in the minute or the day than the plan includes."""
        return max(self.edge_minute.share, self.edge_day.share) > 1

    @property
    def is_near(self) -> bool:
        return self.share >= NEAR_LIMIT_SHARE


def plan_use(accounts: Sequence[Account]) -> dict[str, PlanUse]:
    """Return each account's use, in one round trip to Redis; without Redis, as counted by this process."""
    if not accounts:
        return {}
    plans = [plan_hit(account.pk, *account.limits) for account in accounts]
    meters = [edge_hit(account.pk, *account.edge_limits) for account in accounts]
    counts = iter(limiter.look(plans + meters))
    plan_windows = [list(map(WindowUse, next(counts), account.limits)) for account in accounts]
    edge_windows = [list(map(WindowUse, next(counts), account.edge_limits)) for account in accounts]
    uses = {}
    for account, [minute, day], [edge_minute, edge_day] in zip(accounts, plan_windows, edge_windows, strict=True):
        uses[account.pk] = PlanUse(minute=minute, day=day, edge_minute=edge_minute, edge_day=edge_day)
    return uses
