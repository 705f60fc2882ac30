"""Operations on licences, for endpoints, commands and the admin.

A licence's price is in the ledger at its start, from the moment that it is issued. What the ledger has of one adds up
to what the licence says: a change of its price, start or type takes the former entry back and writes another.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Case, CharField, Count, QuerySet, Sum, Value, When
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from analytics.ledger.adjustments import EARLIEST
from analytics.ledger.entries import add_entries
from analytics.ledger.refunds import check_prices
from analytics.models import EntryType, LedgerEntry
from kit.http.errors import AlreadyExists, Revoked, ValidationFailed
from kit.rest.metadata import merged
from kit.values import ids
from licensing.content.models import Content
from licensing.database_lookups import Length
from licensing.licenses.models import License, LicenseStatus
from licensing.owned import OwnedManager
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from licensing.requesters.services import current_ids, find_or_create, rename, renew

# Of one requester. The first check after a change reads them all, which takes 0.4 seconds for so many licences.
MAX_LICENSES = 10_000
MAX_NAMES = 100_000  # of items, tags and policies, in the scopes of all of them
IDS_AT_ONCE = 5_000  # in a query
NAMES = Length("content_ids") + Length("tags") + Length("policy_ids")
# A price is booked at the licence's start, and what is booked can never be moved.
STARTS_BEFORE = datetime(3000, 1, 1, tzinfo=UTC)

# The fields that name what else the account has: its manager, the prefix of its ids, the field's name in the API, and
# what one is called.
SCOPES: dict[str, tuple[OwnedManager, str, str, str]] = {
    "content_ids": (Content.objects, "cnt", "contentIds", "content item"),
    "policy_ids": (Policy.objects, "pol", "policyIds", "policy"),
}

Fields = Mapping[str, Any]  # of a licence, as the serializer has checked them
Owned = dict[str, set[str]]


class Room(NamedTuple):
    """What the licences of a requester take up."""

    licenses: int = 0
    names: int = 0  # in their scopes


def with_state(held: QuerySet[License]) -> QuerySet[Any]:
    """The licences with `derived_status`, which is what `License.state` says of each now."""
    revoked = When(status=LicenseStatus.REVOKED, then=Value("revoked"))
    expired = When(expires_at__lte=timezone.now(), then=Value("expired"))
    state = Case(revoked, expired, default=Value("active"), output_field=CharField())
    return held.annotate(derived_status=state)


@transaction.atomic
def issue_license(account_id: str, given: Fields) -> License:
    """A new licence for `requester_id` (the caller's own id), who comes into being by it if need be.

    `requester_name` sets the requester's name. `id`, if given, is one that no licence has yet.
    Raises ValidationFailed.
    """
    epochs.hold(account_id)
    fields = dict(given)
    requester_id, name = fields.pop("requester_id"), fields.pop("requester_name", None)
    issued = new_license(account_id, fields, owned_ids(account_id, [fields]), timezone.now())
    check_external_id(issued)
    issued.requester = find_or_create(account_id, requester_id, name)
    issued.save(force_insert=True)
    check_room(rooms([issued.requester])[issued.requester.pk])
    renew(issued.requester)
    audit.record("license.created", issued, {})
    keep_books([(None, booking(issued))])
    epochs.bump(account_id, {issued.requester.epoch_name})
    return issued


def new_license(account_id: str, fields: Fields, owned: Owned, now: datetime) -> License:
    """The licence with these terms, for nobody yet. Raises ValidationFailed."""
    named = {"starts_at": now, **scoped(fields, owned, None), "metadata": merged({}, fields.get("metadata"))}
    issued = License(account_id=account_id, created=now, updated=now, **named)
    check_start(issued)
    check_term(issued)
    return issued


@transaction.atomic
def update_license(held: License, fields: Fields) -> License:
    """Writes the licence, unless nothing of it changes. Raises Revoked for a revoked one, and ValidationFailed."""
    locked = lock(held)
    [fields] = with_current_requesters(locked.account_id, [fields])
    before, booked, names = locked.audited(), booking(locked), names_of(locked)
    change_terms(locked, fields, owned_ids(locked.account_id, [fields]))
    if "requester_name" in fields:
        rename(locked.requester, fields["requester_name"])
    if not audit.changes(before, locked.audited()):
        return locked
    check_external_id(locked)
    locked.updated = timezone.now()
    locked.save()
    if names_of(locked) > names:
        check_room(rooms([locked.requester])[locked.requester.pk])
    renew(locked.requester)
    audit.record("license.updated", locked, before)
    keep_books([(booked, booking(locked))])
    epochs.bump(locked.account_id, {locked.requester.epoch_name})
    return locked


def with_current_requesters(account_id: str, many: Iterable[Fields]) -> list[Fields]:
    """The fields of licences with the current ids of requesters that were merged into others, who keep their names."""
    given = list(many)
    current = current_ids(account_id, [fields.get("requester_id") for fields in given])
    return [with_current_requester(fields, current) for fields in given] if current else given


def with_current_requester(fields: Fields, current: Mapping[str, str]) -> Fields:
    if fields.get("requester_id") not in current:
        return fields
    kept = {name: value for name, value in fields.items() if name != "requester_name"}
    return {**kept, "requester_id": current[fields["requester_id"]]}


def change_terms(held: License, fields: Fields, owned: Owned) -> None:
    """Sets the terms, all but the requester's name, in memory. Raises Revoked and ValidationFailed."""
    if held.status == LicenseStatus.REVOKED:
        raise Revoked("This licence is revoked, which is final. Issue another one.")
    if fields.get("requester_id", held.requester.requester_id) != held.requester.requester_id:
        raise ValidationFailed("A licence stays its requester's. Issue another one.", param="requesterId")
    start = held.starts_at
    for attribute, value in scoped(fields, owned, held).items():
        if attribute not in ("requester_id", "requester_name"):
            setattr(held, attribute, merged(held.metadata, value) if attribute == "metadata" else value)
    if held.starts_at != start:
        check_start(held)
    check_term(held)


@transaction.atomic
def revoke_license(held: License) -> License:
    """Ends the licence at once, for good. To revoke it again changes nothing. What it earned stays in the ledger."""
    locked = lock(held)
    if locked.status != LicenseStatus.REVOKED:
        before = locked.audited()
        locked.status = LicenseStatus.REVOKED
        locked.revoked_at = locked.updated = timezone.now()
        locked.save()
        renew(locked.requester)
        audit.record("license.revoked", locked, before)
        epochs.bump(locked.account_id, {locked.requester.epoch_name})
    return locked


def lock(held: License) -> License:
    epochs.hold(held.account_id)
    owned = License.objects.filter(account_id=held.account_id).select_related("requester")
    return owned.select_for_update(of=("self",)).get(pk=held.pk)


def check_external_id(held: License) -> None:
    """Raises AlreadyExists for an externalId that another licence of the account has."""
    others = License.objects.filter(account_id=held.account_id, external_id=held.external_id).exclude(pk=held.pk)
    if held.external_id is not None and others.exists():
        raise taken(held.external_id)


def taken(external_id: str) -> AlreadyExists:
    return AlreadyExists(f"There is a licence with the externalId {external_id!r} already.", param="externalId")


# --- Terms -----------------------------------------------------------------------------------------------------------


def check_start(held: License) -> None:
    if not EARLIEST <= held.starts_at < STARTS_BEFORE:
        raise ValidationFailed("Must be in the years 2000 to 2999 (UTC).", param="startsAt")


def check_term(held: License) -> None:
    if held.expires_at is not None and held.expires_at <= held.starts_at:
        raise ValidationFailed("Must be later than startsAt.", param="expiresAt")


def owned_ids(account_id: str, many: Iterable[Fields]) -> Owned:
    """The items and policies named by these licences that the account has, by the name of the field."""
    owned: Owned = {}
    for field, (everything, prefix, _, _) in SCOPES.items():
        possible = {one for fields in many for one in fields.get(field) or () if ids.decode(prefix, one) is not None}
        named, owned[field] = sorted(possible), set()
        for first in range(0, len(named), IDS_AT_ONCE):
            some = everything.of(account_id).filter(pk__in=named[first : first + IDS_AT_ONCE])
            owned[field].update(some.values_list("pk", flat=True))
    return owned


def scoped(fields: Fields, owned: Owned, held: License | None) -> Fields:
    """The fields without repetitions. Raises ValidationFailed, which names the first id that is none of the account's.

    What the licence names already may have been deleted since: it can be sent back as it was read.
    """
    for field, (_, _, param, what) in SCOPES.items():
        had = getattr(held, field) if held else ()
        for index, one in enumerate(fields.get(field) or ()):
            if one not in owned[field] and one not in had:
                raise ValidationFailed(f"There is no {what} {one[:100]!r}.", param=f"{param}[{index}]")
    lists = {name: list(dict.fromkeys(fields[name])) for name in {*SCOPES, "tags"} & fields.keys()}
    return {**fields, **lists}


def names_of(held: License) -> int:
    return len(held.content_ids) + len(held.tags) + len(held.policy_ids)


def rooms(requesters: Iterable[Requester]) -> dict[int, Room]:
    """What the licences of each of these take up."""
    held = License.objects.filter(requester__in=requesters).values_list("requester")
    return {pk: Room(*taken) for pk, *taken in held.annotate(licenses=Count("pk"), names=Sum(NAMES))}


def check_room(taken: Room) -> None:
    """Raises ValidationFailed for more than a check should have to read."""
    if taken.licenses > MAX_LICENSES:
        raise ValidationFailed(
            f"A requester can have at most {MAX_LICENSES:,} licences, ended ones included."
            " One licence can cover many items, by their tags or policies.",
            param="requesterId",
        )
    if taken.names > MAX_NAMES:
        raise ValidationFailed(
            f"A requester's licences can name at most {MAX_NAMES:,} items, tags and policies together.",
            param="requesterId",
        )


# --- The price in the ledger -----------------------------------------------------------------------------------------


def booking(held: License) -> LedgerEntry | None:
    """What the ledger is to have of a licence; None if it has no price."""
    price = held.price_amount
    if not price:
        return None
    return LedgerEntry(
        account_id=held.account_id,
        type=EntryType.LICENSE,
        amount=price,
        currency=held.price_currency or "",
        occurred_at=held.starts_at,
        license_id=held.pk,
        license_type=held.license_type,
        requester_id=held.requester_id,
    )


def terms(entry: LedgerEntry | None) -> tuple[Decimal, str, datetime, str | None] | None:
    return None if entry is None else (entry.amount, entry.currency, entry.occurred_at, entry.license_type)


def keep_books(changes: Iterable[tuple[LedgerEntry | None, LedgerEntry | None]]) -> None:
    """Reverse changed bookings of licences and book the new ones.

    Raises ValidationFailed, for example if a price would fall below what was refunded of it.
    """
    entries = []
    for booked, to_be in changes:
        if terms(booked) == terms(to_be):
            continue
        if booked is not None:
            booked.amount = -booked.amount
            booked.description = "Taken back, as the licence was changed."
        entries += [entry for entry in (booked, to_be) if entry is not None]
    if entries:
        check_prices(entries)
        try:
            add_entries(entries)
        except ValidationFailed as error:
            raise ValidationFailed(error.message, param="price.amount") from None
