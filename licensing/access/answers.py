"""Answers to checks, before they are rendered."""

from msgspec import Struct
from msgspec.structs import replace

from analytics.recording.batch import Counted
from analytics.recording.entries import Entry
from kit.http.errors import NotFound
from licensing.access.bodies import Check
from licensing.policies.decision import CompiledPolicy, Decision, limited
from licensing.policies.facts import Facts


class Answer(Struct, frozen=True, gc=False):
    """A decision with everything that its reply shows.

    Like the other structures on the way of a check it is no part of any cycle, so the garbage collector may leave it
    out (`gc=False`): thousands of them wait for their commit.
    """

    id: str | None  # None for a dry run, of which there is no record
    decision: Decision
    content_id: str
    requester_id: str
    requester_name: str | None
    policy: CompiledPolicy | None
    facts: Facts
    created: str  # ISO 8601
    rate_remaining: int | None = None
    rate_reset: int | None = None  # Unix seconds
    dry_run: bool = False
    credits: dict[str, object] | None = None  # of the wallet that pays, or does not cover it
    shared: "Shared | None" = None  # with the answers for other items; None once it has a count of its own


class Shared(Struct, eq=False, gc=False):
    """A decision that holds for one item, or for all of a request's items that are alike in what decides."""

    answer: Answer  # but for its id and its item
    entry: Entry
    counts: bool  # whether it claims from a rule's limit
    places: list[int] = []  # of its answers among those of the request


def not_found(check: Check) -> NotFound:
    name, value = check.selector
    return NotFound(f"There is no content item with the {name} {value[:200]!r}.", param=name)


def settle(answer: Answer, counted: Counted) -> Answer:
    """The answer with what was counted: a rule whose limit is used up denies, and no other rule is tried."""
    decision = answer.decision if counted.granted else limited(answer.decision)
    return replace(answer, decision=decision, rate_remaining=counted.remaining, shared=None)
