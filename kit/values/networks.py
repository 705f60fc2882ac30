"""IP addresses and networks of either version."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, collapse_addresses, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
ADDRESS_SCHEMA: dict[str, object] = {"type": "string", "format": "ip", "pattern": "^[0-9A-Fa-f:.]+$"}
RANGE_SCHEMA: dict[str, object] = {
    "type": "string",
    "format": "ip-range",
    "pattern": "^[0-9A-Fa-f:.]+(/[0-9.]+)?$",
    "example": "203.0.113.0/24",
}


def unmapped(address: Address) -> Address:
    """An IPv4-mapped IPv6 address as IPv4; any other address unchanged."""
    return getattr(address, "ipv4_mapped", None) or address


def parse_ip(text: str) -> Address:
    """An address, an IPv4-mapped one as IPv4. Raises ValueError."""
    try:
        if "%" in text:  # a scope is of one machine's making
            raise ValueError
        return unmapped(ip_address(text))
    except ValueError:
        raise ValueError("Must be an IP address.") from None


def as_ipv4(network: Network) -> Network:
    """An IPv4-mapped IPv6 network as IPv4; any other network unchanged."""
    if isinstance(network, IPv6Network) and network.prefixlen >= 96 and network.network_address.ipv4_mapped:
        return IPv4Network((network.network_address.ipv4_mapped, network.prefixlen - 96))
    return network


def joined(networks: Iterable[Network]) -> list[Network]:
    """The fewest networks with the same addresses; neighbours together may be one that neither is alone."""
    known = list(networks)
    return [
        *collapse_addresses(network for network in known if isinstance(network, IPv4Network)),
        *collapse_addresses(network for network in known if isinstance(network, IPv6Network)),
    ]


def lies_within(network: Network, others: Iterable[Network]) -> bool:
    """Whether one of the others has all of the network's addresses."""
    if isinstance(network, IPv4Network):
        return any(isinstance(other, IPv4Network) and network.subnet_of(other) for other in others)
    return any(isinstance(other, IPv6Network) and network.subnet_of(other) for other in others)


class NetworkSet:
    """Networks of either version. Whether an address is in one of them takes a look-up for each length of their
    prefixes, however many they are."""

    def __init__(self, networks: Iterable[Network]) -> None:
        self.prefixes: dict[int, dict[int, set[int]]] = {}  # by version and by the bits that come after them
        for network in networks:
            rest = network.max_prefixlen - network.prefixlen
            of_version = self.prefixes.setdefault(network.version, {})
            of_version.setdefault(rest, set()).add(int(network.network_address) >> rest)

    def __bool__(self) -> bool:
        return bool(self.prefixes)

    def __contains__(self, address: Address) -> bool:
        number = int(address)
        return any(number >> rest in known for rest, known in self.prefixes.get(address.version, {}).items())
