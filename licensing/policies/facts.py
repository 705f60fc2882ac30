"""The facts of a decision. No ORM, no HTTP."""

from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address

from msgspec import Struct

from licensing.policies.modes import Mode


class ContentType(StrEnum):
    ARTICLE = "article"
    REPORT = "report"
    IMAGE = "image"
    DATASET = "dataset"
    VIDEO = "video"


class HeldLicense(Struct, frozen=True, gc=False):
    """A valid licence of the requester for the item: held by this service, or vouched for by the caller."""

    license_type: str | None
    source: str = "caller"
    id: str | None = None
    expires_at: datetime | None = None
    access_amount: int | None = None  # what each access costs, in millionths
    access_currency: str | None = None


class Facts(Struct, frozen=True, gc=False):
    """All that a decision may depend on beside the policy. None and empty are what is not known."""

    now: datetime
    requester_id: str
    license_types: tuple[str, ...] = ()
    has_valid_license: bool = False
    has_lapsed_license: bool = False  # of which the service knows
    licenses_by_service: bool = False  # the service knows of licences, so the caller's word does not count
    licenses: tuple[HeldLicense, ...] = ()
    permission: str | None = None
    ip: IPv4Address | IPv6Address | None = None
    content_type: str = "article"
    tags: frozenset[str] = frozenset()
    category: str | None = None
    archived: bool = False
    mode: str = Mode.ENFORCE  # of the site that the item was asked for at
    is_open: bool = False  # a page that no policy is known of, at a site that lets such pages through
    is_elsewhere: bool = False  # a page of a host that the asking key is not for
