"""Answers to access checks, before rendering."""

from msgspec import Struct
from msgspec.structs import replace

from analytics.recording.entries import Entry
from analytics.recording.outcomes import LimitResult
from kit.http.errors import NotFound
from kit.rest.resources import id_hint
from kit.values import ids
from licensing.access.check_values import Check
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import Decision, deny_by_rate_limit
from licensing.policies.facts import Facts


class Answer(Struct, frozen=True, gc=False):
    """A decision and everything its reply shows.

    `gc=False`: no answer is part of a reference cycle, so the garbage collector can skip the thousands that wait for
    their commit.
    """

    id: str | None  # None for a dry run, which is not recorded
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
    credits: dict[str, object] | None = None  # the wallet that pays, or whose balance is too low
    payer_unknown: bool = False  # whether the visitor's payment was ignored, because the requester is no customer
    shared: "SharedDecision | None" = (
        None  # the decision shared with other items; None once this answer has its own count
    )


class SharedDecision(Struct, eq=False, gc=False):
    """A decision for one item, or for all items of a request that have the same policy and facts."""

    answer: Answer  # a template: its id and content id are replaced for each item
    entry: Entry
    counts: bool  # whether it uses up a rule's rate limit
    places: list[int] = []  # indexes of its answers within the request


def not_found(check: Check, *, takes_external_id: bool = True) -> NotFound:
    name, value = check.selector
    is_id, hint = ids.decode("cnt", value) is not None, ""
    if name == "contentId" and not is_id:
        hint = id_hint("cnt", value) + (" Send your own identifier as `externalId`." if takes_external_id else "")
    elif name == "externalId" and is_id:
        hint = " Send an id as `contentId`."
    return NotFound(f"There is no content item with the {name} {value[:200]!r}.{hint}", param=name)


def settle(answer: Answer, counted: LimitResult) -> Answer:
    """Apply the rate limit's count: a used-up limit denies, and no further rule is evaluated."""
    decision = answer.decision if counted.granted else deny_by_rate_limit(answer.decision)
    return replace(answer, decision=decision, rate_remaining=counted.remaining, shared=None)
