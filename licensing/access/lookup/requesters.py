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


def find_requesters(account_id: str, requester_ids: Iterable[str]) -> dict[str, RequesterSnapshot]:
    """Return requesters by id, with their licences. Unknown ids have no `pk`; merged ids give the requester they were
    merged into.
    """
    names = set(requester_ids)
    owned = Requester.objects.filter(account_id=account_id, requester_id__in=names).select_related("merged_into")
    rows = {row.requester_id: row.current for row in owned}
    revisions = {row.pk: row.licenses_revision for row in rows.values() if row.licenses_revision}
    licenses = compiled_licenses.get(revisions)
    requesters = {name: RequesterSnapshot.from_row(name, row, licenses.get(row.pk)) for name, row in rows.items()}
    return {name: requesters.get(name, RequesterSnapshot(None, None)) for name in names}


def lasting_requesters(checks: Sequence[Check], items: Mapping[Selector, Item]) -> dict[str, str | None]:
    """Requesters to record, with the first name given to each.

    Dry runs and checks of unknown items record no requester.
    """
    names: dict[str, str | None] = {}
    for check in checks:
        if not check.dry_run and check.selector in items:
            for requester_id, name in check.requesters:
                names[requester_id] = names.get(requester_id) or name
    return names


def requesters_to_write(checks: Sequence[Check], result: LookupResult) -> Unwritten:
    """Return requesters to store: new ones, which have no `pk` yet, and those that get their first name."""
    return {
        requester_id: replace(requester, name=requester.name or name, is_written=False)
        for requester_id, name in lasting_requesters(checks, result.items).items()
        if (requester := result.requesters[requester_id]).pk is None or requester.is_named_by(name)
    }


def count_unnumbered(requesters: Unwritten) -> int:
    """Return the number of new requesters."""
    return sum(requester.pk is None for requester in requesters.values())


def assign_numbers(result: LookupResult, requesters: Unwritten, numbers: Iterable[int]) -> LookupResult:
    """Return the facts with these requesters as they will be stored; new ones take the given numbers."""
    free_numbers = iter(numbers)
    numbered = {
        requester_id: replace(requester, pk=next(free_numbers)) if requester.pk is None else requester
        for requester_id, requester in requesters.items()
    }
    return LookupResult(result.epoch, result.items, result.requesters | numbered)


def keep_requesters(account_id: str, names: Mapping[str, str | None]) -> dict[str, RequesterSnapshot]:
    """Like find_requesters, and stores new requesters and first names (None: no name was given)."""
    requesters = find_requesters(account_id, names)
    new_names = {requester_id: names[requester_id] for requester_id, row in requesters.items() if row.pk is None}
    if new_names:
        create_missing(account_id, new_names)
        requesters |= find_requesters(account_id, new_names)
    unnamed = {requester_id for requester_id, row in requesters.items() if row.is_named_by(names[requester_id])}
    for requester_id in sorted(unnamed):
        still_unnamed = Requester.objects.filter(account_id=account_id, requester_id=requester_id, name=None)
        still_unnamed.update(name=names[requester_id])
    return requesters | find_requesters(account_id, {requester_id: names[requester_id] for requester_id in unnamed})
