"""Permissions of keys (docs/reference/api.md, Keys)."""

from typing import TYPE_CHECKING, Protocol, cast

from django.db.models import Model
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts.keys.models import ALL
from kit.http.errors import InsufficientPermissions

if TYPE_CHECKING:  # DRF's views import this module
    from rest_framework.views import APIView

    from kit.rest.views import ApiViewSet

PERMISSIONS = {
    "content:read": "Read content",
    "content:write": "Create, update and delete content",
    "policies:read": "Read policies",
    "policies:write": "Create, update and delete policies",
    "access:check": "Check access",
    "analytics:read": "Read analytics and decisions",
    "webhooks:manage": "Manage webhooks",
    "api_keys:manage": "Manage API keys",
    "licenses:read": "Read licences",
    "licenses:write": "Issue, change and revoke licences",
    "revenue:read": "Read the revenue ledger",
    "revenue:write": "Add to the revenue ledger",
    "audit:read": "Read who changed what and when",
    ALL: "Everything",
}
DEFAULTS = {"secret": [ALL], "public": ["content:read", "policies:read"]}

# Not for public keys, which are on web pages: the log contains operators, addresses and the permissions of keys.
NEVER_PUBLIC = frozenset({"audit:read"})


class KeyGrant(Protocol):
    """A key's grant (accounts.keys.authentication.Grant)."""

    @property
    def is_public(self) -> bool: ...

    def require(self, permission: str) -> None: ...


class KeyHasPermission(BasePermission):
    """Requires every permission that the view names for the action, and for some actions a secret key."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        guarded = cast("ApiViewSet[Model]", view)
        if guarded.action not in guarded.permissions_required:
            raise AssertionError(f"{type(view).__name__} names no permission for {guarded.action}")
        grant = cast(KeyGrant, request.auth)
        for permission in guarded.required_permissions():
            grant.require(permission)
        if guarded.action in guarded.for_secret_keys and grant.is_public:
            raise InsufficientPermissions("A public key cannot call this endpoint. Use a secret key.")
        return True
