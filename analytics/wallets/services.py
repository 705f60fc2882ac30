"""Operations on wallets and their grants, for endpoints and the admin.

Each locks the wallet's row, applies what is due, and writes rows and entries in one transaction. Checks lock the same
row as they spend (analytics.recording).
"""

from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction

from accounts.auditing import audit
from accounts.models import Account
from accounts.plans import epochs
from analytics.payments.services import record_payment
from analytics.wallets.book import Book, period_after
from analytics.wallets.holders import check_identity, find_license, lock_requester
from analytics.wallets.models import Grant, GrantKind, Wallet
from analytics.wallets.moving import current_wallet
from analytics.wallets.stored_books import grants_as_of, lock_book, save_book
from analytics.wallets.units import ACCESS, in_units
from kit.http.errors import AlreadyExists, InUse, ValidationFailed
from kit.storage.reading import stored_now
from kit.values import ids
from kit.values.decimals import LARGEST, plain
from kit.values.json_values import Validated

WHOLE = Decimal(1)


@transaction.atomic
def create_wallet(account_id: str, fields: Validated, now: datetime | None = None) -> Wallet:
    """Create an empty wallet, or one with its first refill, as of `now`. Raises ValidationFailed and AlreadyExists.

    A refill may have a `zone` in which its periods are counted (kit.values.calendar.zone_named), by default the
    account's.
    """
    epochs.lock_epoch(account_id)
    now = now or stored_now()
    requester = lock_requester(account_id, fields["requester_id"]).current
    license_id = find_license(account_id, requester.pk, fields.get("license_id"))
    given = {name: fields[name] for name in ("id", "unit") if name in fields}
    wallet = Wallet(
        **given, account_id=account_id, requester_id=requester.pk, license_id=license_id, created=now, updated=now
    )
    set_terms(wallet, fields, now)
    try:
        with transaction.atomic():
            wallet.save(force_insert=True)
    except IntegrityError:
        whose = f"The licence {license_id}" if license_id else f"The requester {fields['requester_id'][:100]!r}"
        existing = Wallet.objects.get(account=account_id, requester=requester.pk, license=license_id, unit=wallet.unit)
        raise AlreadyExists(f"{whose} has a wallet in {wallet.unit} already: {existing.pk}.", param="unit") from None
    save_book(Book(wallet, []), now)
    audit.record("wallet.created", wallet, {})
    requester.wallets = [*(requester.wallets or []), name_of(wallet)]
    requester.save(update_fields=["wallets"])
    epochs.invalidate(account_id, {str(requester.pk)})
    return wallet


def name_of(wallet: Wallet) -> list[str | None]:
    """Return a wallet's name in decisions: its key, its unit, and its licence's key."""
    license_key = None if wallet.license_id is None else ids.id_to_hex("lic", wallet.license_id)
    return [ids.id_to_hex("wal", wallet.pk), wallet.unit, license_key]


@transaction.atomic
def update_wallet(wallet: Wallet, fields: Validated) -> Wallet:
    """Change floor, thresholds or refill. Raises ValidationFailed."""
    now = stored_now()
    book = lock_book(wallet)
    check_identity(book.wallet, fields)
    check_current(book.wallet)
    before = book.wallet.audited()
    book.roll_to(now)
    book.allocate()  # in the order of spending by the old terms
    set_terms(book.wallet, fields, now)
    book.extend_refill()
    if audit.diff(before, book.wallet.audited()):
        book.wallet.updated = now
        audit.record("wallet.updated", book.wallet, before)
    save_book(book, now)
    return book.wallet


def set_terms(wallet: Wallet, fields: Validated, now: datetime) -> None:
    """Set what can be changed of a wallet. A new period begins with the refill's own anchor, or now."""
    if "floor" in fields:
        former, wallet.floor = wallet.floor, whole(wallet, fields["floor"] or Decimal(0), "floor")
        if wallet.floor > min(wallet.balance, Decimal(0)):
            raise ValidationFailed("Must be at most 0, and at most the balance.", param="floor")
        if wallet.floor < former and wallet.available:
            wallet.exhausted_at = None
    if "thresholds" in fields:
        given = fields["thresholds"] or []
        # one event each
        wallet.thresholds = [threshold for place, threshold in enumerate(given) if threshold not in given[:place]]
    if "refill" in fields:
        set_refill(wallet, fields["refill"], now)


def set_refill(wallet: Wallet, refill: Validated | None, now: datetime) -> None:
    if refill is None:
        wallet.end_refills()
        return
    former = (wallet.refill_every, wallet.refill_anchor, wallet.refill_zone)
    anchor, zone = refill.get("anchor"), refill.get("zone")
    is_as_read = anchor is not None and anchor == wallet.refill_anchor and zone is None  # replies have it in UTC
    if not is_as_read and (anchor is not None or wallet.refill_anchor is None):
        wallet.refill_zone = zone or own_zone(wallet.account_id)
    wallet.refill_amount = whole(wallet, refill["amount"], "refill.amount")
    wallet.refill_every = refill["every"]
    wallet.refill_anchor = anchor or wallet.refill_anchor or now
    rollover: Validated = refill.get("rollover") or {}
    wallet.rollover_min = whole(wallet, rollover.get("min") or Decimal(0), "refill.rollover.min")
    wallet.rollover_max = whole(wallet, rollover.get("max") or Decimal(0), "refill.rollover.max")
    if wallet.rollover_min > wallet.rollover_max:
        raise ValidationFailed("Must be at most max.", param="refill.rollover.min")
    if not wallet.refills and wallet.refill_anchor <= now:
        wallet.next_refill_at = now  # the period that has begun
    elif (wallet.refill_every, wallet.refill_anchor, wallet.refill_zone) != former:
        wallet.next_refill_at = period_after(wallet.refill_anchor, wallet.refill_every, now, wallet.zone)


def own_zone(account_id: str) -> str | None:
    """Return the account's time zone, or None for UTC."""
    name = Account.objects.values_list("time_zone", flat=True).get(pk=account_id)
    return None if name == "UTC" else name


def whole(wallet: Wallet, amount: Decimal, param: str) -> Decimal:
    """The amount. Raises ValidationFailed for a part of an access."""
    if wallet.unit == ACCESS and amount % WHOLE:
        raise ValidationFailed("Must be a whole number of accesses.", param=param)
    return amount


@transaction.atomic
def add_grant(wallet: Wallet, fields: Validated, now: datetime | None = None) -> tuple[Grant, bool]:
    """Add a grant as of `now`; return it and True, or the existing grant with this `external_id` and False.

    What was `paid` for it is recorded as a payment.

    `id`, if given, is unused, or that of a grant that the same form has added. After a merge, the existing grant may
    be in the wallet that has the credit now.

    Raises ValidationFailed, and AlreadyExists for an `external_id` of another wallet.
    """
    now = now or stored_now()
    paid = fields.get("paid")
    if paid is not None:
        check_paid(fields)
        epochs.lock_epoch(wallet.account_id)  # before the wallet, as merges do
    book = lock_book(wallet)
    if (existing := existing_grant(book.wallet, fields)) is not None:
        [current] = grants_as_of(existing.wallet, [existing], now)
        return current, False
    check_current(book.wallet)
    grant = new_grant(book, fields, now)
    book.roll_to(now)
    try:
        with transaction.atomic():
            grant.save(force_insert=True)
    except IntegrityError:
        existing_grant(book.wallet, fields)  # another wallet's, granted at the same moment
        raise
    if grant.effective_at <= now:
        book.add(grant)
    else:
        book.grants.append(grant)
    save_book(book, now)
    audit.record("grant.created", grant, {})
    if paid is not None:
        payment = {**paid, "requester_id": book.wallet.requester.requester_id, "grant": grant}
        record_payment(wallet.account_id, payment, now)
    return grant, True


def check_paid(fields: Validated) -> None:
    """Raise ValidationFailed for a price of a gift."""
    if fields["kind"] != GrantKind.PAID:
        raise ValidationFailed("Only a grant of the kind `paid` can say what was paid.", param="paid")


def check_current(wallet: Wallet) -> None:
    """Raise InUse for a wallet that a merge has emptied: no check would spend added credit."""
    current = current_wallet(wallet)
    if current.pk != wallet.pk:
        raise InUse(f"Its requester was merged into another one. Use the wallet {current.pk}, which has the credit.")


def existing_grant(wallet: Wallet, fields: Validated) -> Grant | None:
    """Return the grant with that id or externalId, of this wallet or of one whose credit merges gave to the same one.

    Raises AlreadyExists if the externalId is that of another wallet's grant.
    """
    grants = Grant.objects.filter(account=wallet.account_id).select_related("wallet__requester")
    current = current_wallet(wallet).pk
    sent = grants.filter(pk=fields["id"]).first() if "id" in fields else None
    if sent is not None and current_wallet(sent.wallet).pk == current:
        return sent
    external_id = fields.get("external_id")
    existing = None if external_id is None else grants.filter(external_id=external_id).first()
    if existing is not None and current_wallet(existing.wallet).pk != current:
        credit, holder = in_units(existing.amount, existing.wallet.unit), existing.wallet.requester.requester_id
        raise AlreadyExists(
            f"Another wallet's grant has the number {external_id!r}: {existing.pk}, {credit} of {holder!r}, in "
            f"{existing.wallet_id}.",
            param="externalId",
        )
    return existing


def new_grant(book: Book, fields: Validated, now: datetime) -> Grant:
    """Return an unsaved grant. Raises ValidationFailed for its dates, and if the wallet would hold too much."""
    wallet, amount = book.wallet, whole(book.wallet, fields["amount"], "amount")
    effective_at, expires_at = fields.get("effective_at") or now, fields.get("expires_at")
    if expires_at is not None and expires_at <= max(effective_at, now):
        raise ValidationFailed("Must be later than effectiveAt, and in the future.", param="expiresAt")
    remaining = sum((grant.remaining for grant in book.grants), Decimal(0))
    if remaining + amount > LARGEST:
        raise ValidationFailed(f"A wallet holds at most {plain(Decimal(LARGEST))} {wallet.unit}.", param="amount")
    given = {name: fields[name] for name in ("id", "kind", "priority", "external_id") if name in fields}
    return book.make_grant(amount, now, effective_at=max(effective_at, now), expires_at=expires_at, **given)


@transaction.atomic
def void_grant(wallet: Wallet, grant_id: str) -> Grant | None:
    """Take back what is left of a grant, once. Returns None if the wallet has no such grant."""
    now = stored_now()
    book = lock_book(wallet)
    grant = Grant.objects.filter(wallet=book.wallet, pk=grant_id).select_related("wallet").first()
    if grant is None:
        return None
    grant.wallet = book.wallet
    book.grants = [grant if open_grant.pk == grant.pk else open_grant for open_grant in book.grants]
    before = grant.audited()
    book.roll_to(now)
    if grant.ended_at is None:
        book.void(grant, now)
        audit.record("grant.voided", grant, before)
    save_book(book, now)
    return grant
