"""System checks: what this configuration cannot keep its promises with is refused at start."""

from ipaddress import ip_network
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register()
def one_process_or_redis(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    if settings.WORKERS > 1 and not settings.REDIS_URL:
        return [
            Error(
                f"WORKERS={settings.WORKERS} needs REDIS_URL: several processes share the plan limits through Redis.",
                hint="Set REDIS_URL to a Redis or Valkey server, or WORKERS=1.",
                id="accounts.E001",
            )
        ]
    return []


@register()
def proxies_are_networks(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    errors: list[CheckMessage] = []
    for text in settings.TRUSTED_PROXIES:
        try:
            ip_network(text)
        except ValueError as error:
            errors.append(Error(f"TRUSTED_PROXIES: {error}.", id="accounts.E002"))
    return errors
