"""Settings that are read for every check."""

from functools import cache
from typing import Any

from django.conf import settings
from django.core.signals import setting_changed


@cache
def hot_setting(name: str) -> Any:
    """Return a setting. Reading Django's takes a microsecond. Only tests change settings, and they send a signal."""
    return getattr(settings, name)


def forget(**_: object) -> None:
    hot_setting.cache_clear()


setting_changed.connect(forget)
