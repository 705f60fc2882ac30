"""Which URLs and addresses an outgoing request may use."""

import re
from ipaddress import IPv4Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from kit.values.networks import Address

HTTPS_PORT = 443
match_dns_name = re.compile(r"(?!.*\.\.)[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_-])?").fullmatch
# Resolvers read a host whose last label is a number as an address: 127.1, 0x7f.1, 0177.0.0.1, 2130706433.
match_disguised_address = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)").fullmatch
# Names that always resolve privately: RFC 6761, 6762 and 8375, and the domain ICANN reserved for private networks.
PRIVATE_DOMAINS = ("localhost", "localdomain", "local", "internal", "home.arpa")
# The IANA registries of special-purpose addresses (RFC 6890), and 168.63.129.16, Azure's metadata service.
SPECIAL_IPV4 = [
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
]
# Global unicast is 2000::/3. Outside it: IPv4-mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96, 64:ff9b:1::/48), unique
# local, link-local and multicast addresses. Inside it: Teredo (2001::/32) and 6to4 (2002::/16).
GLOBAL_IPV6 = ip_network("2000::/3")
SPECIAL_IPV6 = [ip_network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")]


class DestinationRefused(Exception):
    """The destination is not allowed; the message says why."""


def is_public(address: Address) -> bool:
    """Whether the address is public and does not embed another address."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in SPECIAL_IPV4)
    return address in GLOBAL_IPV6 and not any(address in network for network in SPECIAL_IPV6)


def check_url(url: str, *, allow_private: bool = False) -> SplitResult:
    """Return the parsed URL if its text is acceptable. Raises DestinationRefused.

    Accepts `https` on port 443 with a public name or address. `allow_private` also accepts `http`, other ports and
    private names and addresses.
    """
    if not url.isascii() or not url.isprintable() or any(character in url for character in ' \\"<>^`{|}'):
        raise DestinationRefused("Must be a URL in ASCII without white space or backslashes.")
    try:
        parts = urlsplit(url)
        host = parts.hostname
        port = parts.port
    except ValueError:
        raise DestinationRefused("Must be a URL such as https://example.com/hook.") from None
    if parts.scheme not in (("https", "http") if allow_private else ("https",)):
        raise DestinationRefused("Must begin with https://.")
    if "@" in parts.netloc:
        raise DestinationRefused("Must not hold a user name or a password.")
    if parts.fragment or "#" in url:
        raise DestinationRefused("Must not have a fragment.")
    if not host or "%" in parts.netloc:
        raise DestinationRefused("Must name a host.")
    if port == 0 or (not allow_private and port not in (None, HTTPS_PORT)):
        raise DestinationRefused(f"Must use port {'1 to 65535' if allow_private else HTTPS_PORT}.")
    address = as_address(host)
    if address is None:
        check_name(host, allow_private=allow_private)
    else:
        check_address(address, allow_private=allow_private)
    return parts


def check_name(host: str, *, allow_private: bool = False) -> None:
    """Raise DestinationRefused if the host is not a DNS name, or is a private one without `allow_private`."""
    if match_disguised_address(host.rstrip(".")):
        raise DestinationRefused("Must spell an IPv4 address as four decimal numbers without leading zeros.")
    if not match_dns_name(host):
        raise DestinationRefused("Must name a host in ASCII and without a dot at its end, or by its IP address.")
    if not allow_private and ("." not in host or any(f".{host}".endswith(f".{domain}") for domain in PRIVATE_DOMAINS)):
        raise DestinationRefused("The host must be a public name, such as hooks.example.com.")


def check_address(address: Address, *, allow_private: bool = False) -> None:
    """Raise DestinationRefused if the address is not public, unless `allow_private`."""
    if not allow_private and not is_public(address):
        raise DestinationRefused("The host must resolve to public addresses only.")


def as_address(host: str) -> Address | None:
    """Return the host as an IP address, or None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None
