"""Index of a requester's compiled licences, to look up those for an item. Uses neither ORM nor HTTP."""

from collections.abc import Iterable
from datetime import datetime
from operator import is_
from sys import getsizeof

from licensing.policies.effective_licenses import Standing, Term, standing_at


class LicenseIndex:
    """All licences of a requester, indexed by scope, so that thousands of single-item licences do not slow checks."""

    __slots__ = ("by_content", "by_policy", "by_tag", "ended_clients", "of_everything", "terms")

    def __init__(self, terms: Iterable[Term], ended_clients: Iterable[str] = ()) -> None:
        """`terms` must be sorted by start and id. `ended_clients` are ids of revoked licence clients."""
        self.terms = tuple(terms)
        self.ended_clients = frozenset(ended_clients)
        self.by_content: dict[str, list[int]] = {}
        self.by_tag: dict[str, list[int]] = {}
        self.by_policy: dict[str, list[int]] = {}
        self.of_everything: list[int] = []
        for position, term in enumerate(self.terms):
            if not (term.content_ids or term.tags or term.policies):
                self.of_everything.append(position)
            for names, index in (
                (term.content_ids, self.by_content),
                (term.tags, self.by_tag),
                (term.policies, self.by_policy),
            ):
                for name in names:
                    index.setdefault(name, []).append(position)

    @property
    def size(self) -> int:
        """Upper estimate of its memory in bytes (measured: 570 per licence, 120 per name plus its text)."""
        names: list[str] = []
        for term in self.terms:
            names += [*term.content_ids, *term.tags, *term.policies]
        size = 500 + 600 * len(self.terms) + 130 * len(self.ended_clients)
        return size + sum(130 + getsizeof(name) for name in names)

    def as_of(self, moment: datetime) -> "LicenseIndex":
        """Return the licences as they were at a past moment."""
        terms = [term.as_of(moment) for term in self.terms]
        if all(map(is_, terms, self.terms)):
            return self
        return LicenseIndex(terms, self.ended_clients)

    def covering(self, content_id: str, tags: Iterable[str], policy: str | None) -> list[Term]:
        """Return the licences that cover an item, in order."""
        positions = {*self.of_everything, *self.by_content.get(content_id, ()), *self.by_policy.get(policy or "", ())}
        if self.by_tag:
            for tag in tags:
                positions.update(self.by_tag.get(tag, ()))
        return [self.terms[position] for position in sorted(positions)]

    def holds(self, license_id: str, now: datetime) -> bool:
        """Return whether the requester has this licence and it is valid."""
        return any(term.license.id == license_id and term.is_valid(now) for term in self.terms)

    def has_valid(self, now: datetime) -> bool:
        """Return whether any of the licences is valid."""
        return any(term.is_valid(now) for term in self.terms)

    def resolve(
        self, content_id: str, tags: Iterable[str], policy: str | None, now: datetime, presented: str | None = None
    ) -> Standing | None:
        """Return the standing for an item, or None if no licence that covers it has started."""
        return standing_at(self.covering(content_id, tags, policy), now, presented)
