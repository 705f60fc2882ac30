"""A requester's licences, compiled, so that a check can ask for those of an item at a moment. No ORM, no HTTP."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from sys import getsizeof

from msgspec import Struct

from licensing.policies.facts import HeldLicense


class Term(Struct, frozen=True, gc=False):
    """A licence, when it holds and what it covers; with no scope at all, everything. Policies by their UUID in hex."""

    license: HeldLicense
    starts_at: datetime
    revoked: bool = False
    content_ids: Sequence[str] = ()
    tags: Sequence[str] = ()
    policies: Sequence[str] = ()

    def is_valid(self, now: datetime) -> bool:
        end = self.license.expires_at
        return not self.revoked and self.starts_at <= now and (end is None or now < end)


class Standing(Struct, frozen=True, gc=False):
    """What is known of a requester's licences for an item at a moment, by the service or on the caller's word."""

    licenses: tuple[HeldLicense, ...] = ()
    license_types: tuple[str, ...] = ()
    is_valid: bool = False
    has_lapsed: bool = False  # none is valid, and one that was not revoked has expired
    by_service: bool = True


def vouched_for(license_type: str | None, has_valid_license: bool) -> Standing:
    """The standing on the caller's word."""
    return Standing(
        licenses=(HeldLicense(license_type),) if license_type is not None or has_valid_license else (),
        license_types=(license_type,) if license_type is not None else (),
        is_valid=has_valid_license,
        by_service=False,
    )


def standing_of(licenses: Iterable[HeldLicense], *, has_lapsed: bool) -> Standing:
    """The standing of one with these valid licences."""
    valid = tuple(licenses)
    types = tuple(one.license_type for one in valid if one.license_type is not None)
    return Standing(valid, types, bool(valid), has_lapsed and not valid)


class LicenseIndex:
    """All licences of one requester, found by what they cover: thousands for single items cost a check nothing."""

    __slots__ = ("by_content", "by_policy", "by_tag", "ended_clients", "of_everything", "terms")

    def __init__(self, terms: Iterable[Term], ended_clients: Iterable[str] = ()) -> None:
        """`terms` in the order of their start and id; `ended_clients` are those of the requester that were revoked."""
        self.terms = tuple(terms)
        self.ended_clients = frozenset(ended_clients)
        self.by_content: dict[str, list[int]] = {}
        self.by_tag: dict[str, list[int]] = {}
        self.by_policy: dict[str, list[int]] = {}
        self.of_everything: list[int] = []
        for place, term in enumerate(self.terms):
            if not (term.content_ids or term.tags or term.policies):
                self.of_everything.append(place)
            for names, index in (
                (term.content_ids, self.by_content),
                (term.tags, self.by_tag),
                (term.policies, self.by_policy),
            ):
                for name in names:
                    index.setdefault(name, []).append(place)

    @property
    def size(self) -> int:
        """About how many bytes of memory they take, at most (measured: 570 a licence, 120 a name beside its text)."""
        names = (
            name for term in self.terms for scope in (term.content_ids, term.tags, term.policies) for name in scope
        )
        held = 500 + 600 * len(self.terms) + 130 * len(self.ended_clients)
        return held + sum(130 + getsizeof(name) for name in names)

    def covering(self, content_id: str, tags: Iterable[str], policy: str | None) -> list[Term]:
        """The licences that cover an item, in their order."""
        places = {*self.of_everything, *self.by_content.get(content_id, ()), *self.by_policy.get(policy or "", ())}
        if self.by_tag:
            for tag in tags:
                places.update(self.by_tag.get(tag, ()))
        return [self.terms[place] for place in sorted(places)]

    def holds(self, license_id: str, now: datetime) -> bool:
        """Whether this licence is one of them, and valid."""
        return any(term.license.id == license_id and term.is_valid(now) for term in self.terms)

    def resolve(
        self, content_id: str, tags: Iterable[str], policy: str | None, now: datetime, presented: str | None = None
    ) -> Standing | None:
        """None if none of those that cover the item has begun: the service knows nothing then.

        Of each type the first valid one is told: no rule can make another count. Where the `presented` licence covers
        the item, it alone is.
        """
        valid: dict[str | None, HeldLicense] = {}
        has_begun = has_lapsed = False
        for term in self.covering(content_id, tags, policy):
            if term.starts_at > now:
                break
            has_begun = True
            if term.license.id == presented and term.is_valid(now):
                return standing_of([term.license], has_lapsed=False)
            if term.revoked:
                continue
            if term.license.expires_at is not None and term.license.expires_at <= now:
                has_lapsed = True
            else:
                valid.setdefault(term.license.license_type, term.license)
        return standing_of(valid.values(), has_lapsed=has_lapsed) if has_begun else None
