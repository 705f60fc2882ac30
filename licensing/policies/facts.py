"""The table of facts that decisions use: each field of Facts, described by its Fact.

Derived from FACTS and NOTES: the bodies of checks and policy tests with their OpenAPI schemas, what is recorded and
replayed, what a recorded decision shows, and the admin's labels and trial form. Uses neither ORM nor HTTP.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import Enum, StrEnum, auto
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, TypeVar, get_type_hints

from msgspec import Meta, Struct
from msgspec.structs import fields

from kit.values.decimals import to_millionths
from kit.values.faults import Fault
from kit.values.networks import ADDRESS_SCHEMA, parse_ip
from licensing.policies.matching.attributes import (
    Attributes,
    AttributesJson,
    dump_attributes,
    load_attributes,
    parse_attributes,
    read_attributes,
    text_of_attributes,
)
from licensing.policies.modes import Mode

NOT_BLANK = r"\S"

T = TypeVar("T")
Recorded = dict[str, Any]  # recorded facts: JSON values by name
Values = tuple[object, ...]  # values of several facts, in table order


class ContentType(StrEnum):
    ARTICLE = "article"
    REPORT = "report"
    IMAGE = "image"
    DATASET = "dataset"
    VIDEO = "video"


class HeldLicense(Struct, frozen=True, gc=False):
    """A valid licence of the requester for the item, stored by this service or asserted by the caller."""

    license_type: str | None
    source: str = "caller"
    id: str | None = None
    expires_at: datetime | None = None
    access_amount: int | None = None  # price of an access, in millionths
    access_currency: str | None = None


class Shortfall(Struct, frozen=True, gc=False):
    """The available balance, in millionths of `unit`, of a wallet that did not cover an access."""

    unit: str
    available: int


# --- What a row says -------------------------------------------------------------------------------------------------


class Source(Enum):
    """Where a fact comes from."""

    DECISION = auto()  # columns of the recorded decision: requester, time, permission
    LICENSES = auto()  # the requester's licences for the item (licensing.policies.effective_licenses)
    WALLETS = auto()  # the requester's wallets, read when the decision is recorded (licensing.access.charging)
    ITEM = auto()  # the item or its page: the attribute of the same name of licensing.access.subjects.Item
    CHECK = auto()  # the body of the check, or what the edge found out about the visitor


def identity(value: T) -> T:
    return value


def as_sent(value: T, path: str) -> T:
    return value


def value_in_words(value: object) -> str:
    """Format the JSON of a fact or condition for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or "nothing"
    if isinstance(value, dict):
        return text_of_attributes(value)
    return "nothing" if value is None else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Everything specific to one fact.

    `path` is its place in the body of a check or policy test, such as `context.ip` or `content.tags`. Only
    `permission` is at the top level.
    """

    name: str  # key in the recorded facts
    source: Source = Source.CHECK
    attribute: str = ""  # its field of Facts; empty for a note
    path: str = ""
    type: object = str  # msgspec type of its JSON
    description: str = ""  # in the OpenAPI document
    parse: Callable[..., object] = as_sent  # from valid JSON and its path; raises Fault
    load: Callable[..., object] = identity  # inverse of `dump`
    stored: str = ""  # the requester's column that is used if a check omits the fact
    dump: Callable[..., object] = identity  # to JSON
    text: Callable[..., str] = value_in_words  # formats its JSON for people
    words: str = ""  # clause in a policy test's sentence; `{}` stands for its text
    is_always_said: bool = False  # whether tests made from decisions include it even at its default
    label: str = ""  # on the admin's page of a decision; empty means hidden
    field: str = ""  # label in the admin's trial form; empty means no field
    hint: str = ""  # help text of that field
    read_text: Callable[[str], object] = identity  # parses that field's text to JSON

    @property
    def part(self) -> str:
        """The object in the body that contains it."""
        return self.path.partition(".")[0]

    @property
    def key(self) -> str:
        """The fact's name within `part`."""
        return self.path.partition(".")[2]


# --- Reading and writing ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=10_000)
def load_address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return parse_ip(text)
    except ValueError:
        return None


def parse_address(text: str, path: str) -> IPv4Address | IPv6Address:
    address = load_address(text)
    if address is None:
        raise Fault(path, "Must be an IP address.")
    return address


def parse_content_type(value: object, path: str) -> str:
    if not isinstance(value, str) or value not in list(ContentType):
        raise Fault(path, f"Must be one of: {', '.join(ContentType)}.")
    return value


def load_shortfall(wallet: dict[str, str]) -> Shortfall | None:
    """Return the shortfall, or None if the wallet covers the access."""
    if "available" not in wallet:
        return None
    return Shortfall(wallet["unit"], to_millionths(Decimal(wallet["available"])))


def describe_credits(wallet: dict[str, str]) -> str:
    if "available" not in wallet:
        return f"covered the access ({wallet['walletId']})"
    return f"had {wallet['available']} of {wallet['required']} {wallet['unit']} ({wallet['walletId']})"


def describe_licenses(licenses: list[dict[str, str]]) -> str:
    return ", ".join(f"{license_['licenseType']} ({license_['id']})" for license_ in licenses)


# --- The table -------------------------------------------------------------------------------------------------------


class Facts(Struct, frozen=True, gc=False):
    """All facts a decision may depend on, besides the policy. None or empty means unknown.

    Fields are grouped by source, so that facts can be built from one tuple per source.
    """

    now: Annotated[datetime, Fact(name="at", source=Source.DECISION)]
    requester_id: Annotated[str, Fact(name="decidedAs", source=Source.DECISION, label="Decided as")]
    permission: Annotated[
        str | None,
        Fact(name="permission", source=Source.DECISION, path="permission", field="Requested permission"),
    ] = None
    license_types: Annotated[tuple[str, ...], Fact(name="licenseTypes", source=Source.LICENSES)] = ()
    has_valid_license: Annotated[bool, Fact(name="isLicensed", source=Source.LICENSES)] = False
    # The service has licences of the requester, and none is valid.
    has_lapsed_license: Annotated[
        bool, Fact(name="lapsedLicense", source=Source.LICENSES, label="Had a licence that lapsed")
    ] = False
    # The service has licences of the requester, so the caller's claims are ignored.
    licenses_by_service: Annotated[bool, Fact(name="licensesByService", source=Source.LICENSES)] = False
    licenses: Annotated[
        tuple[HeldLicense, ...],
        Fact(name="licenses", source=Source.LICENSES, label="Licences held by the service", text=describe_licenses),
    ] = ()
    # Set if a wallet denied the access.
    shortfall: Annotated[
        Shortfall | None,
        Fact(name="credits", source=Source.WALLETS, load=load_shortfall, label="Wallet", text=describe_credits),
    ] = None
    content_type: Annotated[
        str,
        Fact(
            name="contentType",
            source=Source.ITEM,
            path="content.type",
            type=Annotated[str, Meta(extra_json_schema={"enum": list(map(str, ContentType))})],
            description="Default: `article`.",
            parse=parse_content_type,
            is_always_said=True,
            label="Type of the item",
        ),
    ] = "article"
    tags: Annotated[
        frozenset[str],
        Fact(
            name="tags",
            source=Source.ITEM,
            path="content.tags",
            type=Annotated[list[Annotated[str, Meta(min_length=1, max_length=100)]], Meta(max_length=50)],
            description="Of the item.",
            load=frozenset,
            dump=sorted,
            label="Tags of the item",
            words="tagged {}",
        ),
    ] = frozenset()
    category: Annotated[
        str | None,
        Fact(
            name="category",
            source=Source.ITEM,
            path="content.category",
            type=Annotated[str, Meta(min_length=1, max_length=255)],
            label="Category of the item",
            words="in {}",
        ),
    ] = None
    archived: Annotated[bool, Fact(name="archived", source=Source.ITEM, label="Item archived")] = False
    # Of the site the page belongs to.
    mode: Annotated[str, Fact(name="mode", source=Source.ITEM, label="Mode of the site")] = Mode.ENFORCE
    # A page without a policy, on a site that allows such pages.
    is_open: Annotated[bool, Fact(name="open", source=Source.ITEM)] = False
    # A page on a host that the API key is not valid for.
    is_elsewhere: Annotated[bool, Fact(name="elsewhere", source=Source.ITEM, label="Host not of the key")] = False
    ip: Annotated[
        IPv4Address | IPv6Address | None,
        Fact(
            name="ip",
            path="context.ip",
            type=Annotated[
                str, Meta(max_length=45, description="An IPv4 or IPv6 address.", extra_json_schema=ADDRESS_SCHEMA)
            ],
            description="The requester's address.",
            parse=parse_address,
            load=load_address,
            dump=str,
            label="Address",
            field="Address",
            words="from {}",
        ),
    ] = None
    # How the edge identified the visitor; None for checks of the API.
    identified_by: Annotated[str | None, Fact(name="identifiedBy", label="Visitor identified by")] = None
    # Who is counted by limits per visitor. A random id of the edge's cookie, or what the caller of the API knows.
    visitor_id: Annotated[
        str | None,
        Fact(
            name="visitorId",
            path="context.visitorId",
            type=Annotated[str, Meta(max_length=255, pattern=NOT_BLANK)],
            description="The reader, for rate limits per visitor: a random id, without personal data. Without it "
            "such limits count the address.",
            label="Visitor",
            field="Visitor",
            words="by the visitor {}",
        ),
    ] = None
    # Given to a visitor without a cookie; this access counts for it too.
    new_visitor_id: Annotated[str | None, Fact(name="newVisitorId", label="New visitor")] = None
    attributes: Annotated[
        Attributes | None,
        Fact(
            name="attributes",
            path="requester.attributes",
            type=AttributesJson,
            description="Requester facts for conditions on `attributes`. Default: the requester's `metadata`.",
            stored="metadata",
            parse=parse_attributes,
            load=load_attributes,
            dump=dump_attributes,
            label="Attributes of the customer",
            field="Attributes",
            hint="As country=DE, seats=25, trial=false. Empty: the customer's metadata.",
            words="with {}",
            text=text_of_attributes,
            read_text=read_attributes,
        ),
    ] = None
    # Not charged, even if the licence has a price.
    waived: Annotated[bool, Fact(name="waived", label="Charge waived")] = False


# Recorded for people; rules cannot use them. The caller's claims about licences count unless the service has licences
# of the requester (licensing.policies.effective_licenses).
NOTES = (
    Fact(name="url", label="Page asked for"),
    Fact(name="siteId", label="Site"),
    Fact(name="pattern", label="Pattern of the site"),
    Fact(name="referrer", label="Came from"),
    Fact(name="imported", label="Imported from a log"),
    Fact(name="requesterName", label="Customer's name"),
    Fact(name="keyId", label="Asked with the API key"),
    Fact(
        name="licenseType",
        path="requester.licenseType",
        type=Annotated[str, Meta(max_length=100, pattern=NOT_BLANK)],
        description="Asserted by the caller.",
        label="Licence type, by the caller",
        field="Licence type",
        hint="As the caller vouches for it. A licence held by the service takes precedence.",
    ),
    Fact(
        name="hasValidLicense",
        path="requester.hasValidLicense",
        type=bool,
        description="Asserted by the caller.",
        label="Licence valid, by the caller",
        field="Valid licence",
    ),
    Fact(
        name="userAgent",
        path="context.userAgent",
        type=Annotated[str, Meta(max_length=1000)],
        label="User agent",
    ),
)


# --- Derived from it -------------------------------------------------------------------------------------------------


def declared_facts() -> Iterator[Fact]:
    """Yield the facts of Facts. Raises TypeError for a field outside the group of its source."""
    hints = get_type_hints(Facts, include_extras=True)
    before = Source.DECISION
    for field in fields(Facts):
        [fact] = (annotation for annotation in hints[field.name].__metadata__ if isinstance(annotation, Fact))
        if fact.source.value < before.value:
            raise TypeError(
                f"Move Facts.{field.name} up to the other facts of {fact.source}, before those of {before}."
            )
        before = fact.source
        yield replace(fact, attribute=field.name)


FACTS = tuple(declared_facts())
FACTS_BY_NAME = {fact.name: fact for fact in (*NOTES, *FACTS)}
ITEM_FACTS = tuple(fact for fact in FACTS if fact.source is Source.ITEM)
CHECK_FACTS = tuple(fact for fact in FACTS if fact.source is Source.CHECK)
WALLET_FACTS = tuple(fact for fact in FACTS if fact.source is Source.WALLETS)
DEFAULTS = {field.name: field.default for field in fields(Facts)}
NOT_ASKED = tuple(DEFAULTS[fact.attribute] for fact in WALLET_FACTS)  # before wallets are read
# Stored with the requester, used if a check omits them.
STORED_FACTS = tuple(fact for fact in CHECK_FACTS if fact.stored)
TESTED_FACTS = tuple(fact for fact in (*ITEM_FACTS, *CHECK_FACTS) if fact.path)  # can be given in a policy test
# Facts that callers send, by part of the body.
SENT_FACTS = {
    part: tuple(fact for fact in (*CHECK_FACTS, *NOTES) if fact.part == part) for part in ("requester", "context")
}
ASKED = tuple(fact for fact in (*NOTES, *FACTS) if fact.field)  # fields of the trial form
# What a decision keeps when its requester is erased: nothing that names or describes the requester. Reports count
# decisions at the edge by `siteId` and `identifiedBy`.
KEPT_BY_ERASURE = frozenset(
    {
        *(fact.name for fact in (*ITEM_FACTS, *WALLET_FACTS)),
        *("licenses", "lapsedLicense", "offer", "waived", "url", "pattern", "keyId", "licenseType", "hasValidLicense"),
        *("siteId", "identifiedBy", "imported"),
    }
)
# Facts shown in a recorded decision. The caller's claims about licences are in the decision's `license`.
VISIT_MEMBERS = ("url", "siteId", "identifiedBy", "referrer")  # members of recorded decisions of the edge
SHOWN = {
    "requester": tuple(fact for fact in SENT_FACTS["requester"] if fact.attribute),
    "context": SENT_FACTS["context"],
}


def kept_by_erasure(facts: Recorded) -> Recorded:
    """Return what an erasure leaves of a decision's recorded facts."""
    return {name: value for name, value in facts.items() if name in KEPT_BY_ERASURE}


def shown_facts(part: str, recorded: Recorded) -> Recorded:
    """Return the members of that part of a recorded decision."""
    return {fact.key: recorded[fact.name] for fact in SHOWN[part] if fact.name in recorded}


def facts_loader(facts: Sequence[Fact]) -> Callable[[Recorded], Values]:
    """Return a function that loads the values of these facts from their recorded JSON, in order.

    It visits what is recorded, which is a few facts, on each request of the edge and for each row of an export.
    """
    loads = {fact.name: (index, fact.load) for index, fact in enumerate(facts)}
    defaults = tuple(DEFAULTS[fact.attribute] for fact in facts)

    def load_all(recorded: Recorded) -> Values:
        values = list(defaults)
        for name, value in recorded.items():
            if name in loads:
                index, load = loads[name]
                values[index] = load(value)
        return tuple(values)

    return load_all


facts_of_item, facts_of_check, facts_of_wallets = map(facts_loader, (ITEM_FACTS, CHECK_FACTS, WALLET_FACTS))
PLACES_OF_STORED = tuple(CHECK_FACTS.index(fact) for fact in STORED_FACTS)


def or_stored(asserted: Values, stored: Values) -> Values:
    """Return the values of CHECK_FACTS, with stored values for those the check omits."""
    values = list(asserted)
    for index, value in zip(PLACES_OF_STORED, stored, strict=True):
        if values[index] is None:
            values[index] = value
    return tuple(values)


class GivenFacts(Struct, frozen=True, gc=False):
    """The facts a check supplies: values of CHECK_FACTS, and their recorded form with the notes."""

    facts: Values = tuple(DEFAULTS[fact.attribute] for fact in CHECK_FACTS)
    recorded: Recorded = {}

    @classmethod
    def from_record(cls, recorded: Recorded) -> "GivenFacts":
        return cls(facts_of_check(recorded), recorded)


NOTHING = GivenFacts()


class PayerFacts(Facts, frozen=True, gc=False, kw_only=True):
    """The facts of a requester who pays for one access; `unpaid` are those without the payment."""

    unpaid: Facts
