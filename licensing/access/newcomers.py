"""Requesters that are new, renamed or merged into others. The record of their check writes the first two."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from licensing.access.bodies import Check
from licensing.access.lookup import Found, Selector
from licensing.access.subjects import Item, RequesterSnapshot

Unwritten = Mapping[str, RequesterSnapshot]  # by the requesters' own ids


def lasting_requesters(checks: Sequence[Check], items: Mapping[Selector, Item]) -> dict[str, str | None]:
    """Whom the decisions on these checks are to be recorded of, with the last name that was given to each.

    Who asks for no item that exists, or only rehearses, leaves no trace.
    """
    named: dict[str, str | None] = {}
    for check in checks:
        if not check.dry_run and check.selector in items:
            for requester_id, name in check.requesters:
                named[requester_id] = name or named.get(requester_id)
    return named


def unwritten(checks: Sequence[Check], found: Found) -> Unwritten:
    """The requesters that are not stored as they are named; who is new has no `pk` yet."""
    return {
        requester_id: replace(known, name=name or known.name, is_written=False)
        for requester_id, name in lasting_requesters(checks, found.items).items()
        if (known := found.requesters[requester_id]).pk is None or known.is_renamed_by(name)
    }


def unnumbered(requesters: Unwritten) -> int:
    """How many of them are new."""
    return sum(requester.pk is None for requester in requesters.values())


def numbered(found: Found, requesters: Unwritten, numbers: Iterable[int]) -> Found:
    """What was found, with these requesters as their record is to write them; those that are new by these numbers."""
    fresh = iter(numbers)
    named = {
        requester_id: replace(requester, pk=next(fresh)) if requester.pk is None else requester
        for requester_id, requester in requesters.items()
    }
    return Found(found.epoch, found.items, found.requesters | named)


def with_current_ids(check: Check, current: Mapping[str, str]) -> Check:
    """The check with current ids. A name that was given with a former id is not the current requester's."""
    other = None if check.edge is None else current.get(check.edge.and_requester_id or "")
    if check.edge is not None and other is not None:
        check = structs.replace(check, edge=structs.replace(check.edge, and_requester_id=other))
    if check.requester_id not in current:
        return check
    return structs.replace(check, requester_id=current[check.requester_id], requester_name=None)
