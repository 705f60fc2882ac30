"""Licences in the form that checks use, compiled once per revision of a requester's licences."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from kit.bounded_cache import BoundedCache
from kit.values import ids
from kit.values.decimals import to_millionths
from licensing.clients.models import LicenseClient
from licensing.licenses.license_index import LicenseIndex
from licensing.licenses.models import License, LicenseStatus
from licensing.policies.effective_licenses import Term
from licensing.policies.facts import HeldLicense

MAX_COMPILED = 64 * 1024 * 1024  # bytes of compiled licences in memory
COLUMNS = (
    *("requester_id", "id", "license_type", "starts_at", "expires_at", "status", "revoked_at"),
    *("access_amount", "access_currency", "content_ids", "tags", "policy_ids"),
)


class CompiledLicenses:
    """Cache by the revision in the requester's row, which every change of its licences renews.

    Reading the row before the licences may cache newer licences than the revision's. That is harmless: nobody asks for
    the old revision again, and decisions by it are not recorded, because the account's epoch has advanced.
    """

    def __init__(self) -> None:
        self.cached: BoundedCache[UUID, LicenseIndex] = BoundedCache(lambda index: index.size, MAX_COMPILED)

    def get(self, revisions: dict[int, UUID]) -> dict[int, LicenseIndex]:
        """Return the licences of requesters by their revisions. One query reads those that are not cached."""
        cached = {requester: self.cached.get(revision) for requester, revision in revisions.items()}
        indexes = {requester: index for requester, index in cached.items() if index is not None}
        missing = revisions.keys() - indexes.keys()
        if missing:
            for requester, index in find_licenses(missing).items():
                indexes[requester] = index
                self.cached.put(revisions[requester], index)
        return indexes


compiled_licenses = CompiledLicenses()


def find_licenses(requesters: Iterable[int]) -> dict[int, LicenseIndex]:
    """Read and compile the licences of requesters."""
    terms: dict[int, list[Term]] = {requester: [] for requester in requesters}
    rows = License.objects.filter(requester_id__in=terms).order_by("starts_at", "id")
    for requester, *row in rows.values_list(*COLUMNS):
        term = build_term(*row)
        if term is not None:
            terms[requester].append(term)
    ended_clients: dict[int, list[str]] = {}
    revoked = LicenseClient.objects.filter(requester_id__in=terms, revoked_at__isnull=False)
    for requester, client in revoked.values_list("requester_id", "id"):
        ended_clients.setdefault(requester, []).append(client)
    return {
        requester: LicenseIndex(requester_terms, ended_clients.get(requester, ()))
        for requester, requester_terms in terms.items()
    }


def build_term(
    id: str,
    license_type: str,
    starts_at: datetime,
    expires_at: datetime | None,
    status: str,
    revoked_at: datetime | None,
    access_amount: Decimal | None,
    access_currency: str | None,
    content_ids: list[str],
    tags: list[str],
    policy_ids: list[str],
) -> Term | None:
    """Compile a licence; None if it was revoked before its start."""
    if revoked_at is not None and revoked_at < starts_at:
        return None
    held_license = HeldLicense(
        license_type=license_type,
        source="service",
        id=id,
        expires_at=expires_at,
        access_amount=None if access_amount is None else to_millionths(access_amount),
        access_currency=access_currency,
    )
    policies = [ids.id_to_hex("pol", policy_id) for policy_id in policy_ids]
    return Term(held_license, starts_at, status == LicenseStatus.REVOKED, content_ids, tags, policies, revoked_at)
