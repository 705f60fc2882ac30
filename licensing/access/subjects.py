"""Items and requesters in the form that checks use, and the requests that look them up."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct

from kit.values import ids
from licensing.content.models import Content, Status
from licensing.licenses.license_index import LicenseIndex
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.facts import DEFAULTS, ITEM_FACTS, STORED_FACTS, Values
from licensing.policies.modes import Mode
from licensing.requesters.models import Requester
from licensing.sites.refusal_texts import NO_TEXTS, RefusalTexts

read_fact_values = attrgetter(*(fact.attribute for fact in ITEM_FACTS))


@dataclass(frozen=True, slots=True)
class Item:
    """A content item in the form that checks use. `key` is its UUID in hex; `facts` are recorded in events."""

    id: str
    key: str
    policy: CompiledPolicy | None
    policy_key: str | None
    facts: dict[str, object]
    content_type: str
    tags: frozenset[str]
    category: str | None
    archived: bool
    mode: str = Mode.ENFORCE  # of the site the page belongs to
    is_open: bool = False  # a page without a policy, on a site that allows such pages
    is_elsewhere: bool = False  # a page on a host that the API key is not valid for
    urls: tuple[str, ...] = ()  # keys in hex of the URLs it was found by; empty if it was named by an id
    refusal: RefusalTexts = NO_TEXTS  # of its site
    others: tuple["Item", ...] = ()  # further pages that an origin may serve for the same URL
    # Values of licensing.policies.facts.ITEM_FACTS: each check would read them again.
    fact_values: Values = field(init=False, repr=False)
    comparisons: int = field(init=False, repr=False)  # that its decision may take

    def __post_init__(self) -> None:
        object.__setattr__(self, "fact_values", read_fact_values(self))
        policies = [page.policy for page in self.readings if page.policy is not None]
        object.__setattr__(self, "comparisons", sum(policy.comparisons for policy in policies))

    @classmethod
    def from_row(cls, row: Content, policy: CompiledPolicy | None) -> "Item":
        """Build an item from a row with the columns of licensing.access.lookup.items.ITEM_COLUMNS."""
        policy_key = ids.id_to_hex("pol", row.policy_id) if row.policy_id else None
        description = describe_item(row.type, tuple(row.tags), row.category, row.status == Status.ARCHIVED)
        key = ids.id_to_hex("cnt", row.pk)
        return cls(id=row.pk, key=key, policy=policy, policy_key=policy_key, **description._asdict())

    @property
    def compiled(self) -> CompiledPolicy | None:
        return self.policy

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Names of its dependencies in accounts.plans.epochs."""
        own = (self.key, *self.urls)
        return own if self.policy_key is None else (*own, self.policy_key)

    @property
    def readings(self) -> tuple["Item", ...]:
        """This item and all others that the URL may name."""
        return (self, *self.others)

    @property
    def weight(self) -> int:
        """Memory in KiB, without the policy."""
        return 1 + sum(140 + 4 * len(tag) for tag in self.tags) // 1024


SHARED_CHARACTERS = 1_000


class ItemDescription(NamedTuple):
    facts: dict[str, object]
    content_type: str
    tags: frozenset[str]
    category: str | None
    archived: bool


def describe_item(content_type: str, tags: tuple[str, ...], category: str | None, archived: bool) -> ItemDescription:
    """Return what checks know of an item. Items with equal, short descriptions share one in memory."""
    if sum(map(len, tags)) > SHARED_CHARACTERS:
        return build_description(content_type, tags, category, archived)
    return cached_description(content_type, tags, category, archived)


def build_description(
    content_type: str, tags: tuple[str, ...], category: str | None, archived: bool
) -> ItemDescription:
    values: dict[str, object] = {
        "contentType": content_type,
        "tags": list(tags),
        "category": category,
        "archived": archived,
    }
    facts = {name: value for name, value in values.items() if value}
    return ItemDescription(facts, content_type, frozenset(tags), category, archived)


cached_description = lru_cache(maxsize=2_000)(build_description)


@dataclass(frozen=True, slots=True)
class RequesterSnapshot:
    """A requester in the form that checks use; `pk` is None if it was never recorded.

    If not `is_written`, the decision's record stores it: it is new or has a new name.
    """

    pk: int | None
    name: str | None
    licenses: LicenseIndex | None = None
    is_written: bool = True
    current_id: str | None = None  # the requester that the requested id was merged into; None if it was not merged
    wallets: tuple[tuple[str | None, ...], ...] = ()  # key, unit, key of the licence (analytics.wallets.services)
    stored: Values = ()  # values of licensing.policies.facts.STORED_FACTS; empty if none is set

    @property
    def weight(self) -> int:
        """Memory in KiB, without the licences."""
        return 1 + sum(4 * len(repr(value)) for value in self.stored) // 1024

    @classmethod
    def from_row(cls, requested_id: str, row: Requester, licenses: LicenseIndex | None) -> "RequesterSnapshot":
        """Build the requester that `requested_id` resolves to."""
        current_id = None if row.requester_id == requested_id else row.requester_id
        wallets = tuple(map(tuple, row.wallets or ()))
        stored = stored_facts([getattr(row, fact.stored) for fact in STORED_FACTS])
        return cls(row.pk, row.name, licenses, current_id=current_id, wallets=wallets, stored=stored)

    @property
    def compiled(self) -> LicenseIndex | None:
        return self.licenses

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Names of its dependencies in accounts.plans.epochs."""
        return (str(self.pk),)

    def is_customer(self, now: datetime) -> bool:
        """Whether it has a valid licence or a wallet."""
        return bool(self.wallets) or (self.licenses is not None and self.licenses.has_valid(now))

    def is_named_by(self, name: str | None) -> bool:
        """Return whether the given name fills an empty one. None means that no name was given."""
        return name is not None and self.name is None and self.current_id is None


def stored_facts(columns: Sequence[object]) -> Values:
    """Return the values of STORED_FACTS from the columns of a requester; empty if all columns are."""
    if not any(columns):
        return ()
    values = zip(STORED_FACTS, columns, strict=True)
    return tuple(fact.load(value) if value else DEFAULTS[fact.attribute] for fact, value in values)


# `contentId`, `externalId`, `source` or `page`, and its value; `elsewhere` for a page the key is not valid for.
Selector = tuple[str, str]


class LookupRequest(Struct, frozen=True, gc=False):
    """The items and requesters to look up for one request."""

    account_id: str
    selectors: set[Selector]
    requesters: set[str]


class LookupResult(Struct, frozen=True, gc=False):
    """The items and requesters that were found, at least as new as `epoch`. Unknown requesters have no `pk`."""

    epoch: int
    items: dict[Selector, Item]
    requesters: dict[str, RequesterSnapshot]
