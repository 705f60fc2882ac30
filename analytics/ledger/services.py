"""Adjustments: revenue and refunds outside licence prices and charged checks."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import Model

from accounts.auditing import audit
from accounts.plans import epochs
from analytics.archive.lookup import find_archived_decision
from analytics.ledger.entries import add_entries
from analytics.ledger.refunds import (
    Balance,
    Charge,
    balances,
    charge_of,
    charge_to_refund,
    check_refund,
    is_single,
    return_to_wallet,
    usage_id,
)
from analytics.models import AccessEvent, EntryType, LedgerEntry
from analytics.wallets.holders import unknown_requester
from kit.http.errors import AlreadyExists, ValidationFailed
from kit.rest.resources import referred_model, unknown
from kit.storage.reading import stored_now
from kit.values import ids
from kit.values.json_values import Validated

CLOCK_SKEW = timedelta(minutes=1)  # how far the caller's clock may be ahead
# a mistyped year could not be corrected, and the period `all` would begin there
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
# The references of an entry: model field → its name in the API, and the lookup field of the referenced model.
NAMED = {
    "fee": ("feeId", "pk"),
    "license": ("licenseId", "pk"),
    "decision": ("decisionId", "pk"),
    "content": ("contentId", "pk"),
    "requester": ("requesterId", "requester_id"),
}
# The fields that a charge gives an entry, with their names in the API.
FILLED = {"license": "licenseId", "license_type": "licenseType", "content_id": "contentId", "requester": "requesterId"}


@transaction.atomic
def adjust(account_id: str, fields: Validated) -> tuple[LedgerEntry, bool]:
    """Add an adjustment to the ledger; return it and True, or the existing one with its `external_id` and False.

    Resources that it names must belong to the account; deleted content counts. Requester, item and licence type
    default to those of the named decision or licence. `id`, if given, must be unused. A refund cannot exceed the rest
    of its charge (analytics.ledger.refunds).

    Raises ValidationFailed, and AlreadyExists if the existing adjustment differs.
    """
    # Serialises refunds, before the totals are locked. An erasure waits, too: it redacts only what is committed.
    epochs.lock_epoch(account_id)
    if (existing := find_adjustment(account_id, fields.get("external_id"))) is not None:
        check_repeated(existing, fields)
        return existing, False
    now = stored_now()
    named = {field: resource for field in NAMED if (resource := find_named(account_id, field, fields)) is not None}
    entry = LedgerEntry(
        **{name: fields[name] for name in ("id",) if name in fields},
        account_id=account_id,
        type=EntryType.ADJUSTMENT,
        amount=fields["amount"],
        currency=fields["currency"],
        occurred_at=checked_moment(fields.get("occurred_at"), now, "occurredAt"),
        license_type=fields.get("license_type"),
        description=fields.get("description"),
        external_id=fields.get("external_id"),
        created=now,
        **named,
    )
    fill_in(entry)
    check_refund(entry)
    if entry.amount < 0 and entry.decision_id is not None:
        return_to_wallet(entry)
    add_entries([entry])
    audit.record("ledger_entry.created", entry, {})
    return entry, True


@transaction.atomic
def refund(account_id: str, fields: Validated) -> tuple[LedgerEntry, bool]:
    """Add the negative adjustment that refunds a charge, by default all that is left of it.

    `entry_id`, `license_id` or `decision_id` names the charge; `amount` is positive. Returns and raises what `adjust`
    does.
    """
    epochs.lock_epoch(account_id)
    charge, currency = named_charge(account_id, fields)
    amount: Decimal | None = fields.get("amount")
    existing = find_adjustment(account_id, fields.get("external_id"))
    if existing is not None:
        currency = currency or existing.currency
        if amount is None and not refunded_all(existing, charge):
            raise another_body(existing)
        amount = -existing.amount if amount is None else amount
    elif currency is None or amount is None:
        currency, left = charge_to_refund(account_id, charge, currency)
        amount = left if amount is None else amount
    adjustment: dict[str, object] = {
        f"{charge.kind}_id": charge.id,
        "amount": -amount,
        "currency": currency,
        "description": fields.get("reason"),
        "external_id": fields.get("external_id"),
    }
    return adjust(account_id, adjustment)


def named_charge(account_id: str, fields: Validated) -> tuple[Charge, str | None]:
    """Return the charge to refund, and its currency if an entry names it. Raises ValidationFailed."""
    for kind in ("decision", "license"):
        if fields.get(f"{kind}_id") is not None:
            find_named(account_id, kind, fields)
            return Charge(kind, fields[f"{kind}_id"]), None
    id = fields["entry_id"]
    is_id = ids.decode("led", id) is not None
    entry = LedgerEntry.objects.filter(account_id=account_id, pk=id).first() if is_id else None
    if entry is None:
        raise ValidationFailed(unknown("led", id), param="entryId")
    charge = charge_of(entry)
    if charge is None or entry.amount <= 0:
        raise ValidationFailed(
            "Only a charge can be refunded, and this entry refunds one. To undo that, add a positive adjustment that "
            "names the same charge.",
            param="entryId",
        )
    return charge, entry.currency


def refunded_all(adjustment: LedgerEntry, charge: Charge) -> bool:
    """Whether nothing of the charge was left after this adjustment."""
    after = balances([adjustment.account_id], [charge], until=adjustment.created)
    return adjustment.amount < 0 and not after.get((charge, adjustment.currency), Balance()).refundable


def find_adjustment(account_id: str, external_id: str | None) -> LedgerEntry | None:
    """Return the account's adjustment with this external_id. Call it while holding the account."""
    if external_id is None:
        return None
    rows = LedgerEntry.objects.filter(account_id=account_id, external_id=external_id)
    return rows.select_related("requester__merged_into").first()


def check_repeated(existing: LedgerEntry, fields: Validated) -> None:
    """Raise AlreadyExists if the request that made an adjustment had other fields than these.

    A field that was not sent matches whatever the charge filled in.
    """
    names_charge = any(fields.get(name) is not None for name in ("fee_id", "decision_id", "license_id"))
    sent = {name: fields.get(name) for name in ("amount", "currency", "description", "decision_id")}
    sent["occurred_at"] = fields.get("occurred_at") or existing.created
    for name in ("fee_id", "license_id", "license_type", "content_id"):
        if fields.get(name) is not None or not names_charge:
            sent[name] = fields.get(name)
    is_same = all(getattr(existing, name) == value for name, value in sent.items())
    if fields.get("requester_id") is not None:
        is_same &= current(find_named(existing.account_id, "requester", fields)) == current(existing.requester)
    elif not names_charge:
        is_same &= existing.requester is None
    if not is_same:
        raise another_body(existing)


def another_body(existing: LedgerEntry) -> AlreadyExists:
    return AlreadyExists(
        f"Another adjustment has the number {existing.external_id!r}: {existing.pk}, {existing}.",
        param="externalId",
    )


def checked_moment(moment: datetime | None, now: datetime, param: str) -> datetime:
    """Return the moment of an entry or a payment, by default now. Raises ValidationFailed."""
    if moment is None:
        return now
    if moment > now + CLOCK_SKEW:
        raise ValidationFailed("Must not be in the future.", param=param)
    if moment < EARLIEST:
        raise ValidationFailed("Must not be before 2000-01-01.", param=param)
    return moment


def find_named(account_id: str, field: str, fields: Validated) -> Model | None:
    name, lookup = NAMED[field]
    value = fields.get(f"{field}_id")
    if value is None:
        return None
    model = referred_model(LedgerEntry, field)
    if lookup != "pk" or ids.decode(ids.id_prefix(model), value) is not None:
        referred = model._default_manager.filter(account_id=account_id, **{lookup: value}).first()
        if isinstance(referred, LedgerEntry) and not is_single(referred):
            raise ValidationFailed("Must be a fee, or an adjustment that charges by itself.", param=name)
        if referred is None and field == "decision":
            referred = former_decision(account_id, value)
        if referred is not None:
            return referred
    if field == "requester":
        raise unknown_requester(value)
    raise ValidationFailed(unknown(ids.id_prefix(model), value), param=name)


def former_decision(account_id: str, id: str) -> AccessEvent | None:
    """Return a decision that the database no longer has: by its charge, or from the archive.

    Raises ServiceUnavailable if the archive cannot be read.
    """
    charges = LedgerEntry.objects.filter(account_id=account_id, pk=usage_id(id))
    charged = charges.values("content_id", "requester_id").first()
    # Whatever is charged was allowed.
    facts = find_archived_decision(account_id, id) if charged is None else {**charged, "allowed": True, "reason": None}
    if facts is None:
        return None
    shown = {name: facts[name] for name in ("content_id", "requester_id", "allowed", "reason")}
    return AccessEvent(id=id, account_id=account_id, **shown)


def fill_in(entry: LedgerEntry) -> None:
    """Fill missing fields from the decision's charge, the decision and the licence, in this order.

    After a merge, the requester is the one that the charged one was merged into, also if the entry names a merged one.
    Raises ValidationFailed if the entry names others: what one customer paid is not returned to another, who is not
    billed for undoing it either.
    """
    sources: list[Model | None] = [entry.fee, entry.decision, entry.license]
    if entry.decision_id is not None:
        charge = LedgerEntry.objects.filter(pk=usage_id(entry.decision_id))
        sources.insert(0, charge.select_related("license", "requester__merged_into").first())
    for field, name in FILLED.items():
        charged = next(filter(None, (getattr(source, field, None) for source in sources)), None)
        given = getattr(entry, field)
        if given is None or (charged is not None and current(given) == current(charged)):
            setattr(entry, field, current(charged))
        elif charged is not None:
            raise ValidationFailed(f"The charge has {public_id(charged)!r}. Leave {name} out.", param=name)


def current(value: object) -> object:
    """Return the requester that this one was merged into; other values unchanged."""
    return getattr(value, "current", value)


def public_id(value: object) -> object:
    return getattr(value, "public_id", getattr(value, "pk", value))
