"""How much of their plans accounts have used, without counting a request."""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from accounts.limits.limiter import limiter
from accounts.limits.throttling import plan_consume
from accounts.plans.models import Account

NEAR = Fraction(4, 5)


class Used(Struct, frozen=True):
    """The requests used in a plan's window, and its limit."""

    count: int
    limit: int

    @property
    def share(self) -> Fraction:
        return Fraction(self.count, self.limit)


class PlanUse(Struct, frozen=True):
    minute: Used  # the UTC minute
    day: Used  # the UTC day

    @property
    def share(self) -> Fraction:
        """Return the used share of the fuller window."""
        return max(self.minute.share, self.day.share)

    @property
    def is_near(self) -> bool:
        return self.share >= NEAR


def plan_use(accounts: Sequence[Account]) -> dict[str, PlanUse]:
    """Return each account's use, in one round trip to Redis; without Redis, as counted by this process."""
    if not accounts:
        return {}
    counts = limiter.look([plan_consume(account.pk, *account.limits) for account in accounts])
    return {
        account.pk: PlanUse(*(Used(count, limit) for count, limit in zip(windows, account.limits, strict=True)))
        for account, windows in zip(accounts, counts, strict=True)
    }
