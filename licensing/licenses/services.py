"""Operations on licences, for endpoints, commands and the admin.

A licence's price enters the ledger when it is issued, dated at its start. A change of price, start or type adds a
reversing entry and a new one, so the ledger always sums up to the licence's price. Recurring fees are booked as they
fall due (licensing.licenses.fees).
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Case, CharField, Count, QuerySet, Sum, Value, When
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from analytics.ledger.services import EARLIEST
from kit.http.errors import AlreadyExists, Revoked, ValidationFailed
from kit.rest.metadata import merge_metadata
from kit.rest.resources import unknown
from kit.storage.reading import stored_now
from kit.values import ids
from kit.values.json_values import Validated
from licensing.content.models import Content
from licensing.database_lookups import Length
from licensing.licenses.charges import build_ledger_entry, keep_books
from licensing.licenses.fees import Schedule, schedule_fee, take_due_fees
from licensing.licenses.models import License, LicenseStatus
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from licensing.requesters.services import current_ids, find_or_create, name_unnamed, renew

# Per requester. The first check after a change reads them all, which takes 0.4 seconds at this limit.
MAX_LICENSES = 10_000
MAX_SCOPE_ENTRIES = 100_000  # items, tags and policies in all their scopes
IDS_AT_ONCE = 5_000  # per query
SCOPE_ENTRIES = Length("content_ids") + Length("tags") + Length("policy_ids")
# The price is booked at the licence's start, and ledger entries cannot be moved.
STARTS_BEFORE = datetime(3000, 1, 1, tzinfo=UTC)

ExistingIds = dict[str, set[str]]  # by field


class ScopeField(NamedTuple):
    """A field of ids of other objects of the account."""

    model: type[Content | Policy]
    prefix: str
    api_name: str


SCOPE_FIELDS = {
    "content_ids": ScopeField(Content, "cnt", "contentIds"),
    "policy_ids": ScopeField(Policy, "pol", "policyIds"),
}


class LicenseTotals(NamedTuple):
    """Size of a requester's licences, compared with the limits."""

    licenses: int = 0
    scope_entries: int = 0  # items, tags and policies in their scopes


def with_state(licenses: QuerySet[License]) -> QuerySet[Any]:
    """Annotate licences with `derived_status`, the current value of `License.state`."""
    revoked = When(status=LicenseStatus.REVOKED, then=Value("revoked"))
    expired = When(expires_at__lte=timezone.now(), then=Value("expired"))
    state = Case(revoked, expired, default=Value("active"), output_field=CharField())
    return licenses.annotate(derived_status=state)


def active_licenses(licenses: QuerySet[License], now: datetime) -> QuerySet[License]:
    """Return the licences whose `License.state` is `active` at the time."""
    return licenses.filter(status=LicenseStatus.ACTIVE).exclude(expires_at__lte=now)


@transaction.atomic
def issue_license(account_id: str, license_fields: Validated) -> License:
    """Issue a licence for `requester_id` (the publisher's own id), creating the requester if needed.

    `requester_name` fills an empty name. `id`, if given, must be unused. Raises ValidationFailed.
    """
    epochs.lock_epoch(account_id)
    fields = dict(license_fields)
    requester_id = fields.pop("requester_id")
    requester_name = fields.pop("requester_name", None)
    now = stored_now()
    issued = new_license(account_id, fields, existing_scope_ids(account_id, [fields]), now)
    check_external_id(issued)
    issued.requester = find_or_create(account_id, requester_id, requester_name)
    schedule_fee(issued, None, now)
    fees = take_due_fees(issued, now)
    issued.save(force_insert=True)
    check_license_limits(license_totals([issued.requester])[issued.requester.pk])
    renew(issued.requester)
    audit.record("license.created", issued, {})
    keep_books([(None, build_ledger_entry(issued))], fees)
    epochs.invalidate(account_id, {issued.requester.epoch_name})
    return issued


def new_license(account_id: str, fields: Validated, existing: ExistingIds, now: datetime) -> License:
    """Build an unsaved licence without a requester. Raises ValidationFailed."""
    terms = {
        **check_scopes(fields, existing, None),
        "starts_at": fields.get("starts_at") or now,
        "metadata": merge_metadata({}, fields.get("metadata")),
    }
    issued = License(account_id=account_id, created=now, updated=now, **terms)
    check_start(issued)
    check_term(issued)
    return issued


@transaction.atomic
def update_license(license_: License, fields: Validated) -> License:
    """Update the licence, unless nothing changes. Raises Revoked if it is revoked, and ValidationFailed."""
    locked = lock_license(license_)
    [fields] = with_current_requesters(locked.account_id, [fields])
    now = stored_now()
    before = locked.audited()
    booked = build_ledger_entry(locked)
    scope_size = count_scope(locked)
    fees = take_due_fees(locked, now)  # by the former terms
    change_terms(locked, fields, existing_scope_ids(locked.account_id, [fields]), now)
    name_unnamed(locked.requester, fields.get("requester_name"))
    if not audit.diff(before, locked.audited()):
        return locked
    check_external_id(locked)
    locked.updated = now
    fees += take_due_fees(locked, now)
    locked.save()
    if count_scope(locked) > scope_size:
        check_license_limits(license_totals([locked.requester])[locked.requester.pk])
    renew(locked.requester)
    audit.record("license.updated", locked, before)
    keep_books([(booked, build_ledger_entry(locked))], fees)
    epochs.invalidate(locked.account_id, {locked.requester.epoch_name})
    return locked


def with_current_requesters(account_id: str, rows: Iterable[Validated]) -> list[Validated]:
    """Replace ids of merged requesters by current ones, which keep their names."""
    rows = list(rows)
    current = current_ids(account_id, [fields.get("requester_id") for fields in rows])
    return [with_current_requester(fields, current) for fields in rows]


def with_current_requester(fields: Validated, current: Mapping[str, str]) -> Validated:
    if fields.get("requester_id") not in current:
        return fields
    unnamed = {name: value for name, value in fields.items() if name != "requester_name"}
    return {**unnamed, "requester_id": current[fields["requester_id"]]}


def change_terms(license_: License, fields: Validated, existing: ExistingIds, now: datetime) -> None:
    """Set the terms in memory, except the requester's name. Raises Revoked and ValidationFailed."""
    if license_.status == LicenseStatus.REVOKED:
        raise Revoked("This licence is revoked, which is final. Issue another one.")
    if fields.get("requester_id", license_.requester.requester_id) != license_.requester.requester_id:
        raise ValidationFailed("`requesterId` cannot be changed. Issue another licence.", param="requesterId")
    start = license_.starts_at
    schedule = Schedule.from_license(license_)
    for attribute, value in check_scopes(fields, existing, license_).items():
        if attribute == "metadata":
            license_.metadata = merge_metadata(license_.metadata, value)
        elif attribute not in ("requester_id", "requester_name"):
            setattr(license_, attribute, value)
    license_.starts_at = license_.starts_at or license_.created
    if license_.starts_at != start:
        check_start(license_)
    check_term(license_)
    schedule_fee(license_, schedule, now)


@transaction.atomic
def revoke_license(license_: License) -> License:
    """Revoke the licence immediately and permanently. Idempotent. Its ledger entries remain; no further fee is due."""
    locked = lock_license(license_)
    if locked.status != LicenseStatus.REVOKED:
        before = locked.audited()
        now = stored_now()
        fees = take_due_fees(locked, now)
        locked.status = LicenseStatus.REVOKED
        locked.revoked_at = locked.updated = now
        locked.next_fee_at = None
        locked.save()
        keep_books([], fees)
        renew(locked.requester)
        audit.record("license.revoked", locked, before)
        epochs.invalidate(locked.account_id, {locked.requester.epoch_name})
    return locked


def lock_license(license_: License) -> License:
    epochs.lock_epoch(license_.account_id)
    licenses = License.objects.filter(account_id=license_.account_id).select_related("requester")
    return licenses.select_for_update(of=("self",)).get(pk=license_.pk)


def check_external_id(license_: License) -> None:
    """Raise AlreadyExists if another licence of the account has the externalId."""
    if license_.external_id is None:
        return
    same_id = License.objects.filter(account_id=license_.account_id, external_id=license_.external_id)
    holder = same_id.exclude(pk=license_.pk).values_list("pk", flat=True).first()
    if holder is not None:
        raise external_id_conflict(license_.external_id, holder)


def external_id_conflict(external_id: str, holder: str) -> AlreadyExists:
    """Return the error for an externalId that the licence `holder` has."""
    return AlreadyExists(
        f"There is a licence with the externalId {external_id!r} already: {holder}.", param="externalId"
    )


# --- Terms -----------------------------------------------------------------------------------------------------------


def check_start(license_: License) -> None:
    if not EARLIEST <= license_.starts_at < STARTS_BEFORE:
        raise ValidationFailed("Must be in the years 2000 to 2999 (UTC).", param="startsAt")


def check_term(license_: License) -> None:
    if license_.expires_at is not None and license_.expires_at <= license_.starts_at:
        raise ValidationFailed("Must be later than startsAt.", param="expiresAt")


def existing_scope_ids(account_id: str, rows: Iterable[Validated]) -> ExistingIds:
    """Return the ids in these rows' fields that exist in the account, by field."""
    rows = list(rows)
    existing: ExistingIds = {}
    for field, scope in SCOPE_FIELDS.items():
        given_ids = {id for fields in rows for id in fields.get(field) or ()}
        well_formed = sorted(id for id in given_ids if ids.decode(scope.prefix, id) is not None)
        existing[field] = set()
        for first in range(0, len(well_formed), IDS_AT_ONCE):
            some = scope.model.objects.of(account_id).filter(pk__in=well_formed[first : first + IDS_AT_ONCE])
            existing[field].update(some.values_list("pk", flat=True))
    return existing


def check_scopes(fields: Validated, existing: ExistingIds, license_: License | None) -> Validated:
    """Return the fields without duplicates.

    Raises ValidationFailed naming the first unknown id. Ids the licence already names may have been deleted since, and
    are accepted.
    """
    for field, scope in SCOPE_FIELDS.items():
        former = getattr(license_, field) if license_ else ()
        for index, id in enumerate(fields.get(field) or ()):
            if id not in existing[field] and id not in former:
                raise ValidationFailed(unknown(scope.prefix, id), param=f"{scope.api_name}[{index}]")
    lists = {name: list(dict.fromkeys(fields[name])) for name in {*SCOPE_FIELDS, "tags"} & fields.keys()}
    return {**fields, **lists}


def count_scope(license_: License) -> int:
    return len(license_.content_ids) + len(license_.tags) + len(license_.policy_ids)


def license_totals(requesters: Iterable[Requester]) -> dict[int, LicenseTotals]:
    """Return the size of each requester's licences."""
    licenses = License.objects.filter(requester__in=requesters).values_list("requester")
    totals = licenses.annotate(licenses=Count("pk"), scope_entries=Sum(SCOPE_ENTRIES))
    return {pk: LicenseTotals(count, scope_entries) for pk, count, scope_entries in totals}


def check_license_limits(totals: LicenseTotals) -> None:
    """Raise ValidationFailed if a requester's licences exceed what a check may read."""
    if totals.licenses > MAX_LICENSES:
        raise ValidationFailed(
            f"A requester can have at most {MAX_LICENSES:,} licences, ended ones included."
            " One licence can cover many items, by their tags or policies.",
            param="requesterId",
        )
    if totals.scope_entries > MAX_SCOPE_ENTRIES:
        raise ValidationFailed(
            f"A requester's licences can name at most {MAX_SCOPE_ENTRIES:,} items, tags and policies together.",
            param="requesterId",
        )
