"""Which events a key may see or have delivered: those about objects that it may read."""

from collections.abc import Iterable

from accounts.events.types import BY_NAME, PERMISSIONS, TYPES, covered_by
from accounts.keys.authentication import Grant
from kit.http.errors import InsufficientPermissions


def readable_types(grant: Grant) -> list[str]:
    """Return the types of event that the key may see."""
    return [event_type.name for event_type in TYPES if grant.allows(PERMISSIONS[event_type.object])]


def require_read_permissions(grant: Grant, patterns: Iterable[str]) -> None:
    """Raise InsufficientPermissions, naming the first one missing, if the key may not see every event they cover."""
    for name in covered_by(patterns):
        permission = PERMISSIONS[BY_NAME[name].object]
        if not grant.allows(permission):
            raise InsufficientPermissions(
                f"This key lacks the permission {permission}, which an endpoint that receives {name} needs. "
                "Use an endpoint with narrower `events`, or a key with that permission."
            )
