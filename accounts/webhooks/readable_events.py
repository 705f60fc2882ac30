"""Which events a key may see or have delivered: those about objects that it may read."""

from collections.abc import Iterable

from accounts.events.types import BY_NAME, PERMISSIONS, TYPES, covered_by
from accounts.keys.permissions import KeyGrant, allows
from kit.http.errors import InsufficientPermissions


def readable_types(grant: KeyGrant) -> list[str]:
    """Return the types of event that the key may see."""
    return [event_type.name for event_type in TYPES if allows(grant.permissions, PERMISSIONS[event_type.object])]


def require_read_permissions(grant: KeyGrant, patterns: Iterable[str]) -> None:
    """Raise InsufficientPermissions, naming the first one missing, if the key may not see every event they cover."""
    for name in covered_by(patterns):
        permission = PERMISSIONS[BY_NAME[name].object]
        if not allows(grant.permissions, permission):
            raise InsufficientPermissions(
                f"This key lacks the permission {permission}, which an endpoint that receives {name} needs. "
                "Use an endpoint with narrower `events`, or a key with that permission."
            )
