"""When keys were last used."""

from datetime import datetime, timedelta

from django.db.models import Q

from accounts.keys.authentication import Grant
from accounts.keys.models import ApiKey

LAST_USED_PRECISION = timedelta(minutes=1)
noted: dict[str, datetime] = {}  # key id → when this process last wrote its use
MAX_NOTED = 10_000


def uses_to_note(grant: Grant, now: datetime) -> bool:
    """Whether `lastUsedAt` is more than a minute old, as far as this process knows, or the digest is to be stored."""
    last = noted.get(grant.key_id) or (grant.last_used_at if grant.new_digest is None else None)
    return last is None or now - last >= LAST_USED_PRECISION


def note_use(grant: Grant, now: datetime) -> None:
    """Write `lastUsedAt`, unless it was written less than a minute ago, and the digest that is to be stored."""
    if len(noted) >= MAX_NOTED:
        noted.clear()  # safe, because the condition below enforces the minute too
    noted[grant.key_id] = now
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USED_PRECISION)
    ApiKey.objects.filter(stale, pk=grant.key_id).update(last_used_at=now)
    if grant.new_digest is not None:
        ApiKey.objects.filter(pk=grant.key_id).update(digest=grant.new_digest)
