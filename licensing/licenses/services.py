"""Operations on licences, for endpoints, commands and the admin.

A licence's price is in the ledger at its start, from the moment that it is issued. What the ledger has of one adds up
to what the licence says: a change of its price, start or type takes the former entry back and writes another.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Case, CharField, Count, QuerySet, Sum, Value, When
from django.utils import timezone

from accounts import audit, epochs
from analytics.ledger.adjustments import EARLIEST
from analytics.ledger.entries import add_entries
from analytics.models import EntryType, LedgerEntry
from kit.http.errors import Revoked, ValidationFailed
from kit.values import ids
from licensing.content.models import Content
from licensing.database_lookups import Length
from licensing.licenses.models import License, LicenseStatus
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from licensing.requesters.services import find_or_create, rename, renew

# Of one requester. The first check after a change reads them all, which takes 0.4 seconds for so many licences.
MAX_LICENSES = 10_000
MAX_NAMES = 100_000  # of items, tags and policies, in the scopes of all of them
# A price is booked at the licence's start, and what is booked can never be moved.
STARTS_BEFORE = datetime(3000, 1, 1, tzinfo=UTC)


def with_state(held: QuerySet[License]) -> QuerySet[Any]:
    """The licences with `derived_status`, which is what `License.state` says of each now."""
    revoked = When(status=LicenseStatus.REVOKED, then=Value("revoked"))
    expired = When(expires_at__lte=timezone.now(), then=Value("expired"))
    state = Case(revoked, expired, default=Value("active"), output_field=CharField())
    return held.annotate(derived_status=state)


@transaction.atomic
def issue_license(account_id: str, fields: Mapping[str, Any]) -> License:
    """A new licence for `requester_id` (the caller's own id), who comes into being by it if need be.

    `requester_name` sets the requester's name. `id`, if given, is one that no licence has yet.
    Raises ValidationFailed.
    """
    epochs.hold(account_id)
    now = timezone.now()
    fields = {"starts_at": now, **fields}
    requester_id, name = fields.pop("requester_id"), fields.pop("requester_name", None)
    check_scope(account_id, fields, None)
    issued = License(account_id=account_id, created=now, updated=now, **fields)
    check_start(issued)
    check_term(issued)
    issued.requester = find_or_create(account_id, requester_id, name)
    issued.save(force_insert=True)
    check_room(issued.requester)
    renew(issued.requester)
    audit.record("license.created", issued, {})
    keep_books(None, booking(issued))
    epochs.bump(account_id, {issued.requester.epoch_name})
    return issued


@transaction.atomic
def update_license(held: License, fields: Mapping[str, Any]) -> License:
    """Writes the licence, unless nothing of it changes. Raises Revoked for a revoked one, and ValidationFailed."""
    locked = lock(held)
    if locked.status == LicenseStatus.REVOKED:
        raise Revoked("This licence is revoked, which is final. Issue another one.")
    before, booked, names, start = locked.audited(), booking(locked), names_of(locked), locked.starts_at
    fields = dict(fields)
    if fields.pop("requester_id", locked.requester.requester_id) != locked.requester.requester_id:
        raise ValidationFailed("A licence stays its requester's. Issue another one.", param="requesterId")
    check_scope(locked.account_id, fields, locked)
    if "requester_name" in fields:
        rename(locked.requester, fields.pop("requester_name"))
    for attribute, value in fields.items():
        setattr(locked, attribute, value)
    if locked.starts_at != start:
        check_start(locked)
    check_term(locked)
    if not audit.changes(before, locked.audited()):
        return locked
    locked.updated = timezone.now()
    locked.save()
    if names_of(locked) > names:
        check_room(locked.requester)
    renew(locked.requester)
    audit.record("license.updated", locked, before)
    keep_books(booked, booking(locked))
    epochs.bump(locked.account_id, {locked.requester.epoch_name})
    return locked


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


# --- Terms -----------------------------------------------------------------------------------------------------------


def check_start(held: License) -> None:
    if not EARLIEST <= held.starts_at < STARTS_BEFORE:
        raise ValidationFailed("Must be in the years 2000 to 2999 (UTC).", param="startsAt")


def check_term(held: License) -> None:
    if held.expires_at is not None and held.expires_at <= held.starts_at:
        raise ValidationFailed("Must be later than startsAt.", param="expiresAt")


def check_scope(account_id: str, fields: dict[str, Any], held: License | None) -> None:
    """Takes repetitions out. Raises ValidationFailed, which names the first id that is none of the account's.

    What the licence names already may have been deleted since: it can be sent back as it was read.
    """
    items, policies = fields.get("content_ids") or [], fields.get("policy_ids") or []
    had_items, had_policies = (held.content_ids, held.policy_ids) if held else ([], [])
    check_owned(Content.objects.of(account_id), "cnt", items, had_items, "contentIds", "content item")
    check_owned(Policy.objects.of(account_id), "pol", policies, had_policies, "policyIds", "policy")
    for name in {"content_ids", "policy_ids", "tags"} & fields.keys():
        fields[name] = list(dict.fromkeys(fields[name]))


def names_of(held: License) -> int:
    return len(held.content_ids) + len(held.tags) + len(held.policy_ids)


def check_room(requester: Requester) -> None:
    """Raises ValidationFailed for more than a check should have to read."""
    names = Length("content_ids") + Length("tags") + Length("policy_ids")
    has = License.objects.filter(requester=requester).aggregate(licenses=Count("pk"), names=Sum(names))
    if has["licenses"] > MAX_LICENSES:
        raise ValidationFailed(
            f"A requester can have at most {MAX_LICENSES:,} licences, ended ones included."
            " One licence can cover many items, by their tags or policies.",
            param="requesterId",
        )
    if has["names"] > MAX_NAMES:
        raise ValidationFailed(
            f"A requester's licences can name at most {MAX_NAMES:,} items, tags and policies together.",
            param="requesterId",
        )


def check_owned(owned: QuerySet, prefix: str, named: list[str], had: Iterable[str], param: str, what: str) -> None:
    known = set(had)
    real = {one for one in named if one not in known and ids.decode(prefix, one) is not None}
    if real:
        known.update(owned.filter(pk__in=real).values_list("pk", flat=True))
    for index, one in enumerate(named):
        if one not in known:
            raise ValidationFailed(f"There is no {what} {one[:100]!r}.", param=f"{param}[{index}]")


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


def keep_books(booked: LedgerEntry | None, to_be: LedgerEntry | None) -> None:
    """Takes back what is booked and books what is to be, unless that is the same."""
    if terms(booked) == terms(to_be):
        return
    if booked is not None:
        booked.amount = -booked.amount
        booked.description = "Taken back, as the licence was changed."
    try:
        add_entries([entry for entry in (booked, to_be) if entry is not None])
    except ValidationFailed as error:
        raise ValidationFailed(error.message, param="price.amount") from None
