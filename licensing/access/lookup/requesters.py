"""Look up requesters with their licences. It takes a fixed number of queries."""

from collections.abc import Iterable

from licensing.access.subjects import RequesterSnapshot
from licensing.licenses.compiled import compiled_licenses
from licensing.requesters.models import Requester


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
