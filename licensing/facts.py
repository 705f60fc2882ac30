"""From an item and a request to the facts of a decision, and back from what an event has recorded."""

from datetime import datetime
from ipaddress import ip_address
from typing import Any

from analytics.models import AccessEvent
from config.api.middleware import parse_address
from licensing.models import Content, Status
from licensing.rules import Facts, HeldLicense


def facts_of(item: Content, request: dict[str, Any]) -> dict[str, Any]:
    """What a decision on this item depends on, as JSON: the form in which an event keeps it."""
    requester, context = request["requester"], request.get("context") or {}
    known = {
        "licenseType": requester.get("licenseType"),
        "hasValidLicense": requester.get("hasValidLicense"),
        "requesterName": requester.get("name"),
        "contentType": item.type,
        "tags": item.tags,
        "category": item.category,
        "archived": item.status == Status.ARCHIVED,
        "ip": context.get("ip"),
        "userAgent": context.get("userAgent"),
    }
    return {name: value for name, value in known.items() if value}


def read_facts(recorded: dict[str, Any], requester_id: str, permission: str | None, now: datetime) -> Facts:
    license_type = recorded.get("licenseType")
    has_valid_license = recorded.get("hasValidLicense", False)
    vouched = license_type is not None or has_valid_license
    return Facts(
        now=now,
        requester_id=requester_id,
        license_types=(license_type,) if license_type is not None else (),
        has_valid_license=has_valid_license,
        licenses=(HeldLicense(license_type),) if vouched else (),
        permission=permission,
        ip=parse_address(recorded["ip"]) if "ip" in recorded else None,
        content_type=recorded["contentType"],
        tags=frozenset(recorded.get("tags", ())),
        category=recorded.get("category"),
        archived=recorded.get("archived", False),
    )


def facts_of_event(event: AccessEvent) -> Facts:
    return read_facts(event.facts, event.requester.requester_id, event.permission, event.created)


def parse_ip(text: str) -> str:
    """An address in its normal form, an IPv4-mapped one as IPv4. Raises ValueError."""
    try:
        if "%" in text:  # a scope is of one machine's making
            raise ValueError
        address = ip_address(text)
    except ValueError:
        raise ValueError("Must be an IP address.") from None
    return str(getattr(address, "ipv4_mapped", None) or address)
