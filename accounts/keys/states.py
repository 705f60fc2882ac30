"""The state of an API key: whether it works, what it may do, and warnings."""

from datetime import datetime, timedelta

from django.db import models
from django.db.models import F, Q

from accounts.keys.models import ALL, ApiKey
from accounts.keys.permissions import PERMISSIONS
from kit.values.numbers import count_text

UNUSED_FOR = timedelta(days=90)
EXPIRES_SOON = timedelta(days=14)
REFUSED_WITHIN = timedelta(days=1)
USED_SINCE = timedelta(minutes=5)  # so much after a refusal; a key may have a proxy that works and one that does not


class State(models.TextChoices):
    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


def key_state(key: ApiKey, now: datetime) -> State:
    if key.revoked_at is not None:
        return State.REVOKED
    return State.EXPIRED if key.expires_at is not None and key.expires_at <= now else State.ACTIVE


def is_in(state: str, now: datetime) -> Q:
    """Return the condition for keys in a state."""
    expired = Q(expires_at__isnull=False, expires_at__lte=now)
    if state == State.REVOKED:
        return Q(revoked_at__isnull=False)
    return Q(revoked_at=None) & (expired if state == State.EXPIRED else ~expired)


def is_unused(now: datetime) -> Q:
    """Return the condition for active keys unused for UNUSED_FOR."""
    then = now - UNUSED_FOR
    return is_in(State.ACTIVE, now) & (Q(last_used_at__lt=then) | Q(last_used_at=None, created_at__lt=then))


def expires_soon(now: datetime) -> Q:
    """Return the condition for active keys that expire within EXPIRES_SOON."""
    return is_in(State.ACTIVE, now) & Q(expires_at__isnull=False, expires_at__lte=now + EXPIRES_SOON)


def is_refused(now: datetime) -> Q:
    """Return the condition for keys with which a proxy was refused within a day, and that were not used since."""
    is_unused_since = Q(last_used_at=None) | Q(last_used_at__lt=F("refused_at") + USED_SINCE)
    return Q(refused_at__gt=now - REFUSED_WITHIN) & is_unused_since


def refuses_proxy(key: ApiKey, now: datetime) -> bool:
    """Whether the key is one of `is_refused`."""
    if key.refused_at is None or key.refused_at <= now - REFUSED_WITHIN:
        return False
    return key.last_used_at is None or key.last_used_at < key.refused_at + USED_SINCE


def key_warnings(key: ApiKey, now: datetime) -> list[str]:
    """Return short warnings about the key."""
    warnings = ["refused at the edge"] if refuses_proxy(key, now) else []
    if key_state(key, now) != State.ACTIVE:
        return warnings
    if (key.last_used_at or key.created_at) < now - UNUSED_FOR:
        warnings.append(f"not used for {UNUSED_FOR.days} days")
    if key.expires_at is not None and key.expires_at <= now + EXPIRES_SOON:
        days = (key.expires_at - now).days
        warnings.append(f"expires in {count_text(days, 'day')}" if days else "expires within a day")
    return warnings


def abilities(key: ApiKey) -> list[str]:
    """Describe the key's permissions in words."""
    if ALL in key.permissions:
        return ["Everything"]
    return [PERMISSIONS.get(permission, permission) for permission in key.permissions] or ["Nothing"]
