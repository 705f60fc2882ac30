"""IP addresses and networks, IPv4 and IPv6."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, collapse_addresses, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
KEPT_BITS = {4: 24, 6: 48}  # of truncated addresses, by version
MAPPED_PREFIX = 96  # bits of ::ffff:0:0/96, before a mapped IPv4 address
# An empty address counts as absent.
ADDRESS_SCHEMA: dict[str, object] = {"type": "string", "format": "ip", "pattern": "^[0-9A-Fa-f:.]*$"}
RANGE_SCHEMA: dict[str, object] = {
    "type": "string",
    "format": "ip-range",
    "pattern": "^[0-9A-Fa-f:.]+(/[0-9.]+)?$",
    "example": "203.0.113.0/24",
}


def unmap(address: Address) -> Address:
    """Return an IPv4-mapped IPv6 address as IPv4, any other unchanged."""
    return getattr(address, "ipv4_mapped", None) or address


def parse_ip(text: str) -> Address:
    """Parse an address, IPv4-mapped ones as IPv4. Raises ValueError."""
    try:
        if "%" in text:  # scope ids are local to one machine
            raise ValueError
        return unmap(ip_address(text))
    except ValueError:
        raise ValueError("Must be an IP address.") from None


@lru_cache(maxsize=10_000)
def truncate_address(text: str) -> str:
    """Return the first address of the network of an address: its /24, or /48 of IPv6."""
    address = parse_ip(text)
    host_bits = address.max_prefixlen - KEPT_BITS[address.version]
    return str(type(address)(int(address) >> host_bits << host_bits))


def as_ipv4(network: Network) -> Network:
    """Return an IPv4-mapped IPv6 network as IPv4, any other unchanged."""
    if isinstance(network, IPv6Network) and network.prefixlen >= MAPPED_PREFIX and network.network_address.ipv4_mapped:
        return IPv4Network((network.network_address.ipv4_mapped, network.prefixlen - MAPPED_PREFIX))
    return network


def merge_networks(networks: Iterable[Network]) -> list[Network]:
    """Merge networks into the fewest with the same addresses; adjacent ones combine."""
    networks = list(networks)
    return [
        *collapse_addresses(network for network in networks if isinstance(network, IPv4Network)),
        *collapse_addresses(network for network in networks if isinstance(network, IPv6Network)),
    ]


def lies_within(network: Network, others: Iterable[Network]) -> bool:
    """Whether one of the others contains the whole network."""
    if isinstance(network, IPv4Network):
        return any(isinstance(outer, IPv4Network) and network.subnet_of(outer) for outer in others)
    return any(isinstance(outer, IPv6Network) and network.subnet_of(outer) for outer in others)


class NetworkSet:
    """A set of networks.

    Testing an address takes one lookup per distinct prefix length, however many networks there are.
    """

    def __init__(self, networks: Iterable[Network]) -> None:
        self.prefixes: dict[int, dict[int, set[int]]] = {}  # by version and number of host bits
        for network in networks:
            host_bits = network.max_prefixlen - network.prefixlen
            same_version = self.prefixes.setdefault(network.version, {})
            same_version.setdefault(host_bits, set()).add(int(network.network_address) >> host_bits)

    def __bool__(self) -> bool:
        return bool(self.prefixes)

    def __contains__(self, address: Address) -> bool:
        number = int(address)
        same_version = self.prefixes.get(address.version, {})
        return any(number >> host_bits in prefixes for host_bits, prefixes in same_version.items())
