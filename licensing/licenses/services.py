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
from licensing.owned import OwnedManager
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from licensing.requesters.services import current_ids, find_or_create, name_unnamed, renew

# Per requester. The first check after a change reads them all, which takes 0.4 seconds at this limit.
MAX_LICENSES = 10_000
MAX_NAMES = 100_000  # items, tags and policies in all their scopes
IDS_AT_ONCE = 5_000  # per query
NAMES = Length("content_ids") + Length("tags") + Length("policy_ids")
# The price is booked at the licence's start, and ledger entries cannot be moved.
STARTS_BEFORE = datetime(3000, 1, 1, tzinfo=UTC)

# Validated that refer to other objects of the account: (manager, id prefix, field name in the API, name of the object
# in messages).
SCOPES: dict[str, tuple[OwnedManager, str, str]] = {
    "content_ids": (Content.objects, "cnt", "contentIds"),
    "policy_ids": (Policy.objects, "pol", "policyIds"),
}

Owned = dict[str, set[str]]


class Room(NamedTuple):
    """Size of a requester's licences, compared with the limits."""

    licenses: int = 0
    names: int = 0  # items, tags and policies in their scopes


def with_state(held: QuerySet[License]) -> QuerySet[Any]:
    """Annotate licences with `derived_status`, the current value of `License.state`."""
    revoked = When(status=LicenseStatus.REVOKED, then=Value("revoked"))
    expired = When(expires_at__lte=timezone.now(), then=Value("expired"))
    state = Case(revoked, expired, default=Value("active"), output_field=CharField())
    return held.annotate(derived_status=state)


@transaction.atomic
def issue_license(account_id: str, given: Validated) -> License:
    """Issue a licence for `requester_id` (the publisher's own id), creating the requester if needed.

    `requester_name` fills an empty name. `id`, if given, must be unused. Raises ValidationFailed.
    """
    epochs.hold(account_id)
    fields = dict(given)
    requester_id, name = fields.pop("requester_id"), fields.pop("requester_name", None)
    now = stored_now()
    issued = new_license(account_id, fields, owned_ids(account_id, [fields]), now)
    check_external_id(issued)
    issued.requester = find_or_create(account_id, requester_id, name)
    schedule_fee(issued, None, now)
    fees = take_due_fees(issued, now)
    issued.save(force_insert=True)
    check_room(rooms([issued.requester])[issued.requester.pk])
    renew(issued.requester)
    audit.record("license.created", issued, {})
    keep_books([(None, build_ledger_entry(issued))], fees)
    epochs.bump(account_id, {issued.requester.epoch_name})
    return issued


def new_license(account_id: str, fields: Validated, owned: Owned, now: datetime) -> License:
    """Build an unsaved licence without a requester. Raises ValidationFailed."""
    named = {
        **check_scopes(fields, owned, None),
        "starts_at": fields.get("starts_at") or now,
        "metadata": merge_metadata({}, fields.get("metadata")),
    }
    issued = License(account_id=account_id, created=now, updated=now, **named)
    check_start(issued)
    check_term(issued)
    return issued


@transaction.atomic
def update_license(held: License, fields: Validated) -> License:
    """Update the licence, unless nothing changes. Raises Revoked if it is revoked, and ValidationFailed."""
    locked = lock(held)
    [fields] = with_current_requesters(locked.account_id, [fields])
    now = stored_now()
    before = locked.audited()
    booked = build_ledger_entry(locked)
    names = count_scope(locked)
    fees = take_due_fees(locked, now)  # by the former terms
    change_terms(locked, fields, owned_ids(locked.account_id, [fields]), now)
    name_unnamed(locked.requester, fields.get("requester_name"))
    if not audit.changes(before, locked.audited()):
        return locked
    check_external_id(locked)
    locked.updated = now
    fees += take_due_fees(locked, now)
    locked.save()
    if count_scope(locked) > names:
        check_room(rooms([locked.requester])[locked.requester.pk])
    renew(locked.requester)
    audit.record("license.updated", locked, before)
    keep_books([(booked, build_ledger_entry(locked))], fees)
    epochs.bump(locked.account_id, {locked.requester.epoch_name})
    return locked


def with_current_requesters(account_id: str, many: Iterable[Validated]) -> list[Validated]:
    """Replace ids of merged requesters by current ones, which keep their names."""
    given = list(many)
    current = current_ids(account_id, [fields.get("requester_id") for fields in given])
    return [with_current_requester(fields, current) for fields in given] if current else given


def with_current_requester(fields: Validated, current: Mapping[str, str]) -> Validated:
    if fields.get("requester_id") not in current:
        return fields
    kept = {name: value for name, value in fields.items() if name != "requester_name"}
    return {**kept, "requester_id": current[fields["requester_id"]]}


def change_terms(held: License, fields: Validated, owned: Owned, now: datetime) -> None:
    """Set the terms in memory, except the requester's name. Raises Revoked and ValidationFailed."""
    if held.status == LicenseStatus.REVOKED:
        raise Revoked("This licence is revoked, which is final. Issue another one.")
    if fields.get("requester_id", held.requester.requester_id) != held.requester.requester_id:
        raise ValidationFailed("`requesterId` cannot be changed. Issue another licence.", param="requesterId")
    start = held.starts_at
    schedule = Schedule.from_license(held)
    for attribute, value in check_scopes(fields, owned, held).items():
        if attribute not in ("requester_id", "requester_name"):
            setattr(held, attribute, merge_metadata(held.metadata, value) if attribute == "metadata" else value)
    held.starts_at = held.starts_at or held.created
    if held.starts_at != start:
        check_start(held)
    check_term(held)
    schedule_fee(held, schedule, now)


@transaction.atomic
def revoke_license(held: License) -> License:
    """Revoke the licence immediately and permanently. Idempotent. Its ledger entries remain; no further fee is due."""
    locked = lock(held)
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
        epochs.bump(locked.account_id, {locked.requester.epoch_name})
    return locked


def lock(held: License) -> License:
    epochs.hold(held.account_id)
    owned = License.objects.filter(account_id=held.account_id).select_related("requester")
    return owned.select_for_update(of=("self",)).get(pk=held.pk)


def check_external_id(held: License) -> None:
    """Raises AlreadyExists if another licence of the account has the externalId."""
    if held.external_id is None:
        return
    others = License.objects.filter(account_id=held.account_id, external_id=held.external_id).exclude(pk=held.pk)
    holder = others.values_list("pk", flat=True).first()
    if holder is not None:
        raise external_id_conflict(held.external_id, holder)


def external_id_conflict(external_id: str, holder: str) -> AlreadyExists:
    """Return the error for an externalId that the licence `holder` has."""
    return AlreadyExists(
        f"There is a licence with the externalId {external_id!r} already: {holder}.", param="externalId"
    )


# --- Terms -----------------------------------------------------------------------------------------------------------


def check_start(held: License) -> None:
    if not EARLIEST <= held.starts_at < STARTS_BEFORE:
        raise ValidationFailed("Must be in the years 2000 to 2999 (UTC).", param="startsAt")


def check_term(held: License) -> None:
    if held.expires_at is not None and held.expires_at <= held.starts_at:
        raise ValidationFailed("Must be later than startsAt.", param="expiresAt")


def owned_ids(account_id: str, many: Iterable[Validated]) -> Owned:
    """Return the ids in these fields that exist in the account, by field."""
    owned: Owned = {}
    for field, (everything, prefix, _) in SCOPES.items():
        possible = {one for fields in many for one in fields.get(field) or () if ids.decode(prefix, one) is not None}
        named, owned[field] = sorted(possible), set()
        for first in range(0, len(named), IDS_AT_ONCE):
            some = everything.of(account_id).filter(pk__in=named[first : first + IDS_AT_ONCE])
            owned[field].update(some.values_list("pk", flat=True))
    return owned


def check_scopes(fields: Validated, owned: Owned, held: License | None) -> Validated:
    """Return the fields without duplicates.

    Raises ValidationFailed naming the first unknown id. Ids the licence already names may have been deleted since, and
    are accepted.
    """
    for field, (_, prefix, param) in SCOPES.items():
        had = getattr(held, field) if held else ()
        for index, one in enumerate(fields.get(field) or ()):
            if one not in owned[field] and one not in had:
                raise ValidationFailed(unknown(prefix, one), param=f"{param}[{index}]")
    lists = {name: list(dict.fromkeys(fields[name])) for name in {*SCOPES, "tags"} & fields.keys()}
    return {**fields, **lists}


def count_scope(held: License) -> int:
    return len(held.content_ids) + len(held.tags) + len(held.policy_ids)


def rooms(requesters: Iterable[Requester]) -> dict[int, Room]:
    """Return the size of each requester's licences."""
    held = License.objects.filter(requester__in=requesters).values_list("requester")
    return {pk: Room(*counts) for pk, *counts in held.annotate(licenses=Count("pk"), names=Sum(NAMES))}


def check_room(room: Room) -> None:
    """Raises ValidationFailed if a requester's licences exceed what a check may read."""
    if room.licenses > MAX_LICENSES:
        raise ValidationFailed(
            f"A requester can have at most {MAX_LICENSES:,} licences, ended ones included."
            " One licence can cover many items, by their tags or policies.",
            param="requesterId",
        )
    if room.names > MAX_NAMES:
        raise ValidationFailed(
            f"A requester's licences can name at most {MAX_NAMES:,} items, tags and policies together.",
            param="requesterId",
        )
