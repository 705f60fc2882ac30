"""System checks: errors prevent a start with an unsafe configuration, warnings name weaknesses.

Warnings about a deployment run with `check --deploy`, like Django's own.
"""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from ipaddress import IPv6Network, ip_network
from pathlib import Path

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as CheckWarning
from django.urls import Resolver404, resolve

from accounts.limits.redis_servers import RedisAddress
from kit.environ import known_names
from kit.private_files import GROUP_AND_OTHERS, files_of_database, has_permissions
from kit.storage.replica import REPLICA, measure
from kit.values.networks import Network, as_ipv4, lies_within, merge_networks

# Minimum for a secret, the same as Django's for SECRET_KEY.
SECRET_CHARACTERS = 50
DIFFERENT_CHARACTERS = 5
TOKEN_CHARACTERS = 20
SHORTEST_PREFIXES = {4: 8, 6: 16}  # widest proxy networks: 10.0.0.0/8, and more IPv6 addresses than any provider has
SIMILARITY = 0.9  # of 1; DATABASE_URL and a variable for the user, which another program reads, have 0.88
UNIQUE_LOCAL = IPv6Network("fc00::/7")


@register()
def one_process_or_redis(app_configs: object, **kwargs: object) -> list[CheckMessage]:
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
def redis_is_named(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    try:
        if settings.REDIS_URL:
            RedisAddress(settings.REDIS_URL)
    except ValueError as error:
        return [Error(f"REDIS_URL is malformed: {error}.", id="accounts.E005")]
    return []


@register()
def replica_needs_postgresql(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    if REPLICA in settings.DATABASES and settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        return [
            Error(
                "REPORTS_DATABASE_URL names a replica, but the database is SQLite, which has none.",
                hint="Set DATABASE_URL to the PostgreSQL server that the replica follows.",
                id="accounts.E006",
            )
        ]
    return []


@register(deploy=True)
def replica_is_used(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    if REPLICA not in settings.DATABASES or replica_needs_postgresql(app_configs):
        return []
    state = measure()
    if not state.fault:
        return []
    return [
        CheckWarning(
            f"Reports are read from the primary: {state.detail}",
            hint="See docs/guides/deployment.md, A replica for reports.",
            id="accounts.W007",
        )
    ]


@register()
def settings_are_spelt_right(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    warnings: list[CheckMessage] = []
    for name in sorted(os.environ.keys() - known_names):
        for setting in get_close_matches(name, known_names, n=1, cutoff=SIMILARITY):
            text = f"The environment variable {name} is not a setting."
            warnings.append(CheckWarning(text, hint=f"Did you mean {setting}?", id="accounts.W006"))
    return warnings


@register()
def deprecated_operations_exist(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    return [
        Error(
            f"DEPRECATIONS names {deprecation.method} {deprecation.path}, which is no operation of the API.",
            id="accounts.E004",
        )
        for deprecation in settings.DEPRECATIONS
        if not is_operation(deprecation.method, deprecation.path)
    ]


def is_operation(method: str, path: str) -> bool:
    try:
        match = resolve(path.replace("{id}", "x"))
    except Resolver404:
        return False
    return method.lower() in getattr(match.func, "actions", {})


@register()
def proxies_are_networks(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    errors: list[CheckMessage] = []
    networks: list[Network] = []
    for text in settings.TRUSTED_PROXIES:
        try:
            networks.append(as_ipv4(ip_network(text)))
        except ValueError as error:
            errors.append(Error(f"TRUSTED_PROXIES: {error}.", id="accounts.E002"))
    errors += [
        Error(
            f"TRUSTED_PROXIES covers {network}, so nearly anybody could name the address they come from.",
            hint="Name your proxies, or the network that they alone are in. Keys' address lists hang on it.",
            id="accounts.E003",
        )
        for network in too_wide(networks)
    ]
    return errors


def too_wide(networks: Iterable[Network]) -> list[Network]:
    """Return the merged networks that are too wide to contain only proxies."""
    return [
        network
        for network in merge_networks(networks)
        if network.prefixlen < SHORTEST_PREFIXES[network.version] and not lies_within(network, [UNIQUE_LOCAL])
    ]


@register(Tags.security, deploy=True)
def secrets_are_long(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    warnings: list[CheckMessage] = []
    pepper = settings.API_KEY_PEPPER_TEXT
    if pepper != settings.SECRET_KEY and is_weak(pepper):  # Django checks SECRET_KEY itself
        warnings.append(
            CheckWarning(
                f"API_KEY_PEPPER has fewer than {SECRET_CHARACTERS} characters, or fewer than {DIFFERENT_CHARACTERS} "
                "different ones: who has the database could find it out, and seal and open what it protects.",
                hint="docs/guides/deployment.md, Changing the pepper, says how to set another one.",
                id="accounts.W001",
            )
        )
    if 0 < len(settings.METRICS_TOKEN) < TOKEN_CHARACTERS:
        warnings.append(
            CheckWarning(
                f"METRICS_TOKEN has fewer than {TOKEN_CHARACTERS} characters and could be guessed.", id="accounts.W002"
            )
        )
    return warnings


def is_weak(secret: str) -> bool:
    return len(secret) < SECRET_CHARACTERS or len(set(secret)) < DIFFERENT_CHARACTERS


@register(Tags.security, deploy=True)
def hosts_are_named(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    if "*" not in settings.ALLOWED_HOSTS:
        return []
    return [
        CheckWarning(
            "ALLOWED_HOSTS=* serves the admin and the API under any name that a request gives.",
            hint="Name the hosts under which the service is reached.",
            id="accounts.W003",
        )
    ]


@register(deploy=True)
def data_outlive_the_code(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    if not settings.DATA_DIR.is_relative_to(settings.BASE_DIR):
        return []
    return [
        CheckWarning(
            f"DATA_DIR, {settings.DATA_DIR}, is in the folder of the code, which the next version does not have.",
            hint="Set DATA_DIR to a folder of its own, and move the data there.",
            id="accounts.W005",
        )
    ]


@register(Tags.security)
def data_are_private(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    paths = [settings.DATA_DIR]
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        paths += files_of_database(Path(database["NAME"]))
    return [
        CheckWarning(
            f"{path} is open to other accounts of this machine.",
            hint="Only the service's own account needs it: chmod go= and the path.",
            id="accounts.W004",
        )
        for path in paths
        if has_permissions(path, GROUP_AND_OTHERS)
    ]
