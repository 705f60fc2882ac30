"""Methods that say who may use an action of the admin."""

from collections.abc import Callable

from django.http import HttpRequest

Right = Callable[..., bool]


def right(*permissions: str) -> Right:
    """Build a method such as `has_paying_permission`: whether the member of staff has all of these permissions."""

    def has_right(admin: object, request: HttpRequest, object_id: str | None = None) -> bool:
        return request.user.has_perms(permissions)

    return has_right
