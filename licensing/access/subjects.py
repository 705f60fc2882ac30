"""Items and requesters as checks need them, and the facts that an event has kept of them."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import ClassVar, NotRequired, TypedDict

from kit.http.middleware import parse_address
from kit.values.timestamps import parse_timestamp, render_timestamp
from licensing.licenses.license_index import LicenseIndex
from licensing.policies.decision import CompiledPolicy
from licensing.policies.facts import Facts, HeldLicense
from licensing.policies.modes import Mode
from licensing.policies.offers import license_of_offer, with_license
from licensing.policies.standing import standing_of, vouched_for


@dataclass(frozen=True, slots=True)
class Item:
    """A content item as checks need it. `key` is its UUID in hex; `facts` is what an event keeps of it."""

    id: str
    key: str
    policy: CompiledPolicy | None
    policy_key: str | None
    facts: dict[str, object]
    content_type: str
    tags: frozenset[str]
    category: str | None
    archived: bool
    mode: str = Mode.ENFORCE  # of the site whose page it was asked for as
    is_open: bool = False  # a page that no policy is known of, at a site that lets such pages through
    is_elsewhere: bool = False  # a page of a host that the asking key is not for
    urls: tuple[str, ...] = ()  # that it was found at, by their keys in hex; none where it was asked for by an id
    others: tuple["Item", ...] = ()  # pages that an origin may serve for the same URL

    @property
    def compiled(self) -> CompiledPolicy | None:
        return self.policy

    @property
    def depends_on(self) -> tuple[str, ...]:
        """By names of accounts.plans.epochs."""
        own = (self.key, *self.urls)
        return own if self.policy_key is None else (*own, self.policy_key)

    @property
    def readings(self) -> tuple["Item", ...]:
        """All pages that the URL may name."""
        return (self, *self.others)

    @property
    def weight(self) -> int:
        """How many kibibytes of memory it takes, without its policy."""
        return 1 + sum(140 + 4 * len(tag) for tag in self.tags) // 1024


SHARED_CHARACTERS = 1_000
Description = tuple[dict[str, object], str, frozenset[str], str | None, bool]  # the last fields of an Item


def description(content_type: str, tags: tuple[str, ...], category: str | None, archived: bool) -> Description:
    """Many items are alike in these, and share them in memory, unless they are long."""
    if sum(map(len, tags)) > SHARED_CHARACTERS:
        return describe(content_type, tags, category, archived)
    return shared_description(content_type, tags, category, archived)


def describe(content_type: str, tags: tuple[str, ...], category: str | None, archived: bool) -> Description:
    known: dict[str, object] = {
        "contentType": content_type,
        "tags": list(tags),
        "category": category,
        "archived": archived,
    }
    facts = {name: value for name, value in known.items() if value}
    return facts, content_type, frozenset(tags), category, archived


shared_description = lru_cache(maxsize=2_000)(describe)


@dataclass(frozen=True, slots=True)
class RequesterSnapshot:
    """A requester as checks need it; `pk` is None for one that has never been recorded.

    One that is not `is_written` is stored with the decision, as it is here: new, or with another name.
    """

    pk: int | None
    name: str | None
    licenses: LicenseIndex | None = None
    is_written: bool = True
    wallets: tuple[tuple[str | None, ...], ...] = ()  # key, unit, key of the licence (analytics.wallets.services)

    weight: ClassVar[int] = 1

    @property
    def compiled(self) -> LicenseIndex | None:
        return self.licenses

    @property
    def depends_on(self) -> tuple[str, ...]:
        """By names of accounts.plans.epochs."""
        return (str(self.pk),)

    def is_renamed_by(self, name: str | None) -> bool:
        """Whether a name that was given is another; None: none was given."""
        return name is not None and name != self.name


def recorded_license(held: HeldLicense) -> dict[str, object]:
    """A licence of the service's as an event keeps it."""
    known = {
        "id": held.id,
        "licenseType": held.license_type,
        "expiresAt": render_timestamp(held.expires_at),
        "accessAmount": held.access_amount,
        "accessCurrency": held.access_currency,
    }
    return {name: value for name, value in known.items() if value is not None}


class RecordedLicense(TypedDict):
    licenseType: str
    id: str
    expiresAt: NotRequired[str]
    accessAmount: NotRequired[int]
    accessCurrency: NotRequired[str]


class RecordedOffer(TypedDict):
    licenseType: NotRequired[str]
    accessAmount: int
    accessCurrency: str


class RecordedFacts(TypedDict):
    """The facts of a decision as its event keeps them."""

    contentType: str
    tags: NotRequired[list[str]]
    category: NotRequired[str]
    archived: NotRequired[bool]
    licenses: NotRequired[list[RecordedLicense]]
    lapsedLicense: NotRequired[bool]
    licenseType: NotRequired[str]
    hasValidLicense: NotRequired[bool]
    ip: NotRequired[str]
    mode: NotRequired[str]
    open: NotRequired[bool]
    elsewhere: NotRequired[bool]
    offer: NotRequired[RecordedOffer]
    credits: NotRequired[dict[str, object]]  # of the wallet that paid, or did not cover it
    decidedAs: NotRequired[str]  # the requester whom the rules were applied to, where that is another


def recorded_offer(held: HeldLicense) -> dict[str, object]:
    """An offer that was taken as an event keeps it."""
    tier = {} if held.license_type is None else {"licenseType": held.license_type}
    return {**tier, "accessAmount": held.access_amount, "accessCurrency": held.access_currency}


def license_of_event(recorded: RecordedLicense) -> HeldLicense:
    return HeldLicense(
        license_type=recorded["licenseType"],
        source="service",
        id=recorded["id"],
        expires_at=parse_timestamp(recorded["expiresAt"]) if "expiresAt" in recorded else None,
        access_amount=recorded.get("accessAmount"),
        access_currency=recorded.get("accessCurrency"),
    )


def facts_of_event(recorded: RecordedFacts, requester_id: str, permission: str | None, now: datetime) -> Facts:
    """The facts that an event's decision was made on."""
    if "licenses" in recorded:
        valid = map(license_of_event, recorded["licenses"])
        standing = standing_of(valid, has_lapsed=recorded.get("lapsedLicense", False))
    else:
        standing = vouched_for(recorded.get("licenseType"), recorded.get("hasValidLicense", False))
    facts = Facts(
        now=now,
        requester_id=recorded.get("decidedAs", requester_id),
        license_types=standing.license_types,
        has_valid_license=standing.is_valid,
        has_lapsed_license=standing.has_lapsed,
        licenses_by_service=standing.by_service,
        licenses=standing.licenses,
        permission=permission,
        ip=parse_address(recorded["ip"]) if "ip" in recorded else None,
        content_type=recorded["contentType"],
        tags=frozenset(recorded.get("tags", ())),
        category=recorded.get("category"),
        archived=recorded.get("archived", False),
        mode=recorded.get("mode", Mode.ENFORCE),
        is_open=recorded.get("open", False),
        is_elsewhere=recorded.get("elsewhere", False),
    )
    paid = recorded.get("offer")
    if paid is None:
        return facts
    held = license_of_offer(paid.get("licenseType"), paid["accessAmount"], paid["accessCurrency"])
    return with_license(facts, held)
