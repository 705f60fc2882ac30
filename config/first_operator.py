"""Creates the first operator of the admin if there is none."""

from django.conf import settings
from django.contrib.auth.models import User

if settings.ADMIN:
    from operators.staff.services import create_operator


def first_operator() -> dict[str, str] | None:
    """Create a superuser if there is no operator. Returns None if there is one or the admin is off."""
    if not settings.ADMIN or User.objects.filter(is_staff=True).exists():
        return None
    operator, password = create_operator("operator", superuser=True)
    return {
        "username": operator.username,
        "password": password,
        "address": f"{admin_address(settings.ADMIN_PORT)}/admin/",
    }


def describe_first_operator(operator: dict[str, str] | None) -> str:
    if operator is None:
        return ""
    return "Sign in at {address} as {username} with the password {password}, shown this once.\n".format(**operator)


def admin_address(port: int = 0) -> str:
    """Return the URL of the service for a client on this machine, also if it listens on a wildcard address."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.HOST, settings.HOST)  # noqa: S104 - read, not bound
    if ":" in host:
        return f"http://[{host}]:{port or settings.PORT}"
    return f"http://{host}:{port or settings.PORT}"
