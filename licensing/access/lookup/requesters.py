"""The requesters of checks: looked up with their licences, new and unnamed.

A check's record stores new requesters, and the names of those that had none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from licensing.access.check_values import Check
from licensing.access.subjects import Item, LookupResult, RequesterSnapshot, Selector
from licensing.licenses.compiled import compiled_licenses
from licensing.requesters.models import Requester
from licensing.requesters.services import create_missing

Unwritten = Mapping[str, RequesterSnapshot]  # by the publisher's own requester ids


def find_requesters(account_id: str, wanted: Iterable[str]) -> dict[str, RequesterSnapshot]:
    """Return requesters by id, with their licences. Unknown ids have no `pk`; merged ids give the requester they were
    merged into.
    """
    names = set(wanted)
    owned = Requester.objects.filter(account_id=account_id, requester_id__in=names).select_related("merged_into")
    rows = {row.requester_id: row.current for row in owned}
    revisions = {row.pk: row.licenses_revision for row in rows.values() if row.licenses_revision}
    licenses = compiled_licenses.get(revisions)
    known = {name: RequesterSnapshot.from_row(name, row, licenses.get(row.pk)) for name, row in rows.items()}
    return {name: known.get(name, RequesterSnapshot(None, None)) for name in names}


def lasting_requesters(checks: Sequence[Check], items: Mapping[Selector, Item]) -> dict[str, str | None]:
    """Requesters to record, with the first name given to each.

    Dry runs and checks of unknown items record no requester.
    """
    named: dict[str, str | None] = {}
    for check in checks:
        if not check.dry_run and check.selector in items:
            for requester_id, name in check.requesters:
                named[requester_id] = named.get(requester_id) or name
    return named


def requesters_to_write(checks: Sequence[Check], found: LookupResult) -> Unwritten:
    """Return requesters to store: new ones, which have no `pk` yet, and those that get their first name."""
    return {
        requester_id: replace(known, name=known.name or name, is_written=False)
        for requester_id, name in lasting_requesters(checks, found.items).items()
        if (known := found.requesters[requester_id]).pk is None or known.is_named_by(name)
    }


def count_unnumbered(requesters: Unwritten) -> int:
    """Return the number of new requesters."""
    return sum(requester.pk is None for requester in requesters.values())


def assign_numbers(found: LookupResult, requesters: Unwritten, numbers: Iterable[int]) -> LookupResult:
    """Return the facts with these requesters as they will be stored; new ones take the given numbers."""
    fresh = iter(numbers)
    named = {
        requester_id: replace(requester, pk=next(fresh)) if requester.pk is None else requester
        for requester_id, requester in requesters.items()
    }
    return LookupResult(found.epoch, found.items, found.requesters | named)


def keep_requesters(account_id: str, named: Mapping[str, str | None]) -> dict[str, RequesterSnapshot]:
    """Like find_requesters, and stores new requesters and first names (None: no name was given)."""
    known = find_requesters(account_id, named)
    new = {requester_id: named[requester_id] for requester_id, row in known.items() if row.pk is None}
    if new:
        create_missing(account_id, new)
        known |= find_requesters(account_id, new)
    unnamed = {requester_id for requester_id, row in known.items() if row.is_named_by(named[requester_id])}
    for requester_id in sorted(unnamed):
        still_unnamed = Requester.objects.filter(account_id=account_id, requester_id=requester_id, name=None)
        still_unnamed.update(name=named[requester_id])
    return known | find_requesters(account_id, {requester_id: named[requester_id] for requester_id in unnamed})
