"""System checks: what this configuration cannot keep its promises with is refused at start.

Warnings tell of what makes it weak; those about a deployment come with `check --deploy`, as Django's own.
"""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Weakness

from kit.private_files import files_of_database, is_open_to_others

# What a secret has at least, as Django asks of SECRET_KEY.
SECRET_CHARACTERS, DIFFERENT_CHARACTERS = 50, 5
TOKEN_CHARACTERS = 20
SHORTEST_PREFIXES = {4: 8, 6: 16}  # of networks of proxies: 10.0.0.0/8, and far more than any provider has
UNIQUE_LOCAL = IPv6Network("fc00::/7")


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
    networks: list[IPv4Network | IPv6Network] = []
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


def as_ipv4(network: IPv4Network | IPv6Network) -> IPv4Network | IPv6Network:
    """An IPv4-mapped IPv6 network as IPv4; any other network unchanged."""
    if isinstance(network, IPv6Network) and network.prefixlen >= 96 and network.network_address.ipv4_mapped:
        return IPv4Network((network.network_address.ipv4_mapped, network.prefixlen - 96))
    return network


def too_wide(networks: Iterable[IPv4Network | IPv6Network]) -> list[IPv4Network | IPv6Network]:
    """What the networks cover together that no proxies are alone in; halves of the internet count as the whole."""
    networks = list(networks)
    joined: list[IPv4Network | IPv6Network] = [
        *collapse_addresses(network for network in networks if isinstance(network, IPv4Network)),
        *(
            network
            for network in collapse_addresses(one for one in networks if isinstance(one, IPv6Network))
            if not network.subnet_of(UNIQUE_LOCAL)
        ),
    ]
    return [network for network in joined if network.prefixlen < SHORTEST_PREFIXES[network.version]]


@register(Tags.security, deploy=True)
def secrets_are_long(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    warnings: list[CheckMessage] = []
    pepper = settings.API_KEY_PEPPER_TEXT
    if pepper != settings.SECRET_KEY and is_weak(pepper):  # Django looks at SECRET_KEY itself
        warnings.append(
            Weakness(
                f"API_KEY_PEPPER has fewer than {SECRET_CHARACTERS} characters, or fewer than {DIFFERENT_CHARACTERS} "
                "different ones: who has the database could find it out, and seal and open what it protects.",
                hint="Another one ends all API keys: docs/deployment.md, Changing secrets, tells how to.",
                id="accounts.W001",
            )
        )
    if 0 < len(settings.METRICS_TOKEN) < TOKEN_CHARACTERS:
        warnings.append(
            Weakness(
                f"METRICS_TOKEN has fewer than {TOKEN_CHARACTERS} characters and could be guessed.", id="accounts.W002"
            )
        )
    return warnings


def is_weak(secret: str) -> bool:
    return len(secret) < SECRET_CHARACTERS or len(set(secret)) < DIFFERENT_CHARACTERS


@register(Tags.security, deploy=True)
def hosts_are_named(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    if "*" not in settings.ALLOWED_HOSTS:
        return []
    return [
        Weakness(
            "ALLOWED_HOSTS=* serves the admin and the API under any name that a request gives.",
            hint="Name the hosts under which the service is reached.",
            id="accounts.W003",
        )
    ]


@register(Tags.security)
def data_are_private(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    paths = [settings.DATA_DIR]
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        paths += files_of_database(Path(database["NAME"]))
    return [
        Weakness(
            f"{path} is open to other accounts of this machine.",
            hint="Only the service's own account needs it: chmod go= and the path.",
            id="accounts.W004",
        )
        for path in paths
        if is_open_to_others(path)
    ]
