"""System checks of the archive, which `check --deploy` and the start of the service run."""

from importlib.util import find_spec
from pathlib import Path

from django.conf import settings
from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Warning as CheckWarning
from django.db import DatabaseError

from analytics.archive.horizon import stored_horizon
from analytics.archive.layout import is_remote
from kit.private_files import OTHERS, has_permissions

PACKAGES = ("pyarrow", "pyiceberg", "sqlalchemy")


@register(Tags.security, deploy=True)
def archive_is_private(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    if is_remote() or not has_permissions(Path(settings.ARCHIVE_DIR), OTHERS):
        return []
    return [
        CheckWarning(
            f"ARCHIVE_DIR, {settings.ARCHIVE_DIR}, is open to all accounts of this machine.",
            hint="chmod o= ARCHIVE_DIR. docs/guides/archive.md tells how to let an engine read it.",
            id="analytics.W001",
        )
    ]


@register(deploy=True)
def archive_can_be_read(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if not missing or not has_archived_months():
        return []
    return [
        CheckWarning(
            f"Only the archive has old decisions, and its packages are not installed: {', '.join(missing)}. "
            "Lists that reach into it answer 503.",
            hint="python3 run.py setup --archive",
            id="analytics.W002",
        )
    ]


def has_archived_months() -> bool:
    try:
        return stored_horizon() is not None
    except DatabaseError:  # it cannot be reached, or is not migrated: both are reported elsewhere
        return False
