"""Items and requesters as checks need them, and the facts that an event has kept of them."""

from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from typing import Any

from config.api.middleware import parse_address
from licensing.decisions import CompiledPolicy
from licensing.facts import Facts, HeldLicense


@dataclass(frozen=True, slots=True)
class Item:
    """A content item as checks need it. `key` is its UUID in hex; `facts` is what an event keeps of it."""

    id: str
    key: str
    policy: CompiledPolicy | None
    policy_key: str | None
    facts: dict[str, Any]
    content_type: str
    tags: frozenset[str]
    category: str | None
    archived: bool


@dataclass(frozen=True, slots=True)
class KnownRequester:
    """A requester as checks need it; `pk` is None for one that has never been recorded."""

    pk: int | None
    name: str | None


def held_licenses(license_type: str | None, has_valid_license: bool) -> tuple[HeldLicense, ...]:
    """What the caller vouches for."""
    return (HeldLicense(license_type),) if license_type is not None or has_valid_license else ()


def facts_of_event(recorded: dict[str, Any], requester_id: str, permission: str | None, now: datetime) -> Facts:
    """The facts that an event's decision was made on."""
    license_type, has_valid_license = recorded.get("licenseType"), recorded.get("hasValidLicense", False)
    return Facts(
        now=now,
        requester_id=requester_id,
        license_types=(license_type,) if license_type is not None else (),
        has_valid_license=has_valid_license,
        licenses=held_licenses(license_type, has_valid_license),
        permission=permission,
        ip=parse_address(recorded["ip"]) if "ip" in recorded else None,
        content_type=recorded["contentType"],
        tags=frozenset(recorded.get("tags", ())),
        category=recorded.get("category"),
        archived=recorded.get("archived", False),
    )


def parse_ip(text: str) -> str:
    """An address in its normal form, an IPv4-mapped one as IPv4. Raises ValueError."""
    try:
        if "%" in text:  # a scope is of one machine's making
            raise ValueError
        address = ip_address(text)
    except ValueError:
        raise ValueError("Must be an IP address.") from None
    return str(getattr(address, "ipv4_mapped", None) or address)
