"""The counters of limits, as tests begin."""

from django.conf import settings
from redis import Redis

from accounts.limits import events
from accounts.limits.limiter import limiter
from accounts.limits.redis_counters import RedisCounters


def forget_limits() -> None:
    """Reset all counts, in Redis too, and what is noted of them."""
    counters = limiter.counters
    if isinstance(counters, RedisCounters):
        with Redis.from_url(settings.REDIS_URL) as redis:
            for key in redis.scan_iter("limit:*"):
                redis.delete(key)
        counters = counters.fallback
    counters.buckets.clear()
    events.noted.clear()
    events.waiting.clear()
