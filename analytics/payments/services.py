"""Record and void payments and payouts, for endpoints and the admin."""

from collections import defaultdict
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import Q, Sum

from accounts.auditing import audit
from analytics.ledger.services import checked_moment
from analytics.models.entries import BalanceChange
from analytics.payments.models import TRANSFER_NOTE, Payment, PaymentKind, is_payment_id
from analytics.wallets.holders import lock_requester
from analytics.wallets.models import Grant
from analytics.wallets.stored_books import grants_as_of
from kit.http.errors import AlreadyExists, ValidationFailed
from kit.storage.reading import stored_now
from kit.values.json_values import Validated

COPIED = ("id", "amount", "currency", "external_id", "note", "grant")  # the other fields are looked up or checked


@transaction.atomic
def record_payment(account_id: str, fields: Validated, now: datetime | None = None) -> tuple[Payment, bool]:
    """Record a payment or payout as of `now`; with a `grant`, as paid for that credit.

    Returns it and True, or the existing one and False if its `external_id` is known.
    Raises ValidationFailed, such as for the `external_id` of a transfer, and AlreadyExists if the existing one was
    recorded with other fields.
    """
    if is_payment_id(fields.get("external_id")):
        raise ValidationFailed("Must not be the id of a payment: those name transfers.", param="externalId")
    requester = lock_requester(account_id, fields["requester_id"])
    now = now or stored_now()
    payment = Payment(
        **{name: fields[name] for name in COPIED if name in fields},
        account_id=account_id,
        requester_id=requester.pk,
        kind=fields.get("kind") or PaymentKind.PAYMENT,
        received_at=checked_moment(fields.get("received_at"), now, "receivedAt"),
        created=now,
    )
    try:
        with transaction.atomic():
            payment.save(force_insert=True)
    except IntegrityError:
        if payment.external_id is None:  # its id is taken: a form was sent twice
            raise
        return existing_payment(payment), False
    audit.record("payment.created", payment, {})
    return payment, True


def existing_payment(payment: Payment) -> Payment:
    """Return the payment recorded with the same external_id. Raises AlreadyExists if it differs."""
    rows = Payment.objects.filter(account=payment.account_id, external_id=payment.external_id)
    existing = rows.select_related("requester__merged_into").get()
    same = [getattr(existing, name) == getattr(payment, name) for name in ("kind", "amount", "currency", "note")]
    same.append(existing.requester.current == payment.requester.current)
    are_default = existing.received_at == existing.created and payment.received_at == payment.created
    same.append(are_default or existing.received_at == payment.received_at)
    if not all(same):
        whose = existing.requester.requester_id
        is_void = existing.voided_at is not None
        mend = " That payment is void. Record the corrected one with another number." if is_void else ""
        raise AlreadyExists(
            f"Another payment has the number {payment.external_id!r}: {existing.pk}, {existing} of {whose!r}.{mend}",
            param="externalId",
        )
    return existing


def move_prepayment(account_id: str, source: int, target: int, currency: str, credit: Decimal) -> None:
    """Transfer the money that paid for credit with it: what the source paid in advance, up to the credit that moved.

    Call it in the transaction that moves the credit.
    """
    balances = BalanceChange.objects.filter(account=account_id, requester=source, currency=currency)
    owed = balances.aggregate(sum=Sum("owed"))["sum"] or Decimal(0)
    transfer(account_id, source, target, currency, min(-owed, credit))


def return_prepayment(payment: Payment, credit: Decimal) -> None:
    """Transfer the money back that merges moved with the payment's credit, up to `credit`, from customer to customer.

    Call it in the transaction that takes the credit back.
    """
    payer = payment.requester_id
    while moved := moved_prepayment(payment, payer):
        receiver, amount = moved
        transfer(payment.account_id, receiver, payer, payment.currency, min(amount, credit))
        payer = receiver


def moved_prepayment(payment: Payment, payer: int) -> tuple[int, Decimal] | None:
    """Return who got the payer's money by a merge, and how much of it they still have; None without such a merge."""
    rows = Payment.objects.filter(account=payment.account_id, currency=payment.currency)
    own = rows.filter(requester=payer, reverses=None, voided_at=None, external_id__startswith="pay_")
    transfers = [row for row in own if row.is_transfer]
    halves = rows.in_bulk([row.external_id for row in transfers])
    moved: defaultdict[int, Decimal] = defaultdict(Decimal)
    for row in transfers:
        other = halves[row.external_id].requester_id
        moved[other] += row.amount if row.kind == PaymentKind.PAYOUT else -row.amount
    # Customers that were merged into the payer have moved money to it.
    return next(((other, amount) for other, amount in moved.items() if amount > 0), None)


def transfer(account_id: str, source: int, target: int, currency: str, amount: Decimal) -> None:
    """Book a payout and a payment, which name each other, unless there is nothing to transfer."""
    if amount <= 0:
        return
    now = stored_now()
    common = {"account_id": account_id, "amount": amount, "currency": currency, "received_at": now, "created": now}
    payout = Payment(**common, requester_id=source, kind=PaymentKind.PAYOUT)
    payment = Payment(**common, requester_id=target, kind=PaymentKind.PAYMENT)
    payout.external_id, payment.external_id = payment.pk, payout.pk
    for moved in (payout, payment):
        moved.note = TRANSFER_NOTE
        moved.save(force_insert=True)
        audit.record("payment.created", moved, {})


@transaction.atomic
def void_payment(payment: Payment, reason: str) -> Payment:
    """Void a payment or payout, once, by a row with the negative amount; of a transfer both. Raises AlreadyExists."""
    keys = [payment.pk]
    if payment.is_transfer:
        halves = Payment.objects.filter(account=payment.account_id, pk=payment.external_id, external_id=payment.pk)
        keys += halves.values_list("pk", flat=True)
    list(Payment.objects.select_for_update().filter(pk__in=keys).order_by("pk"))
    voided = [void_locked(key, reason) for key in keys]
    return voided[0]


def void_locked(key: str, reason: str) -> Payment:
    # The void is read after the lock: another request that held it may have written one.
    locked = Payment.objects.select_related("requester").get(pk=key)
    if locked.voided_at is not None:
        raise AlreadyExists(f"This {locked.kind} was voided on {locked.voided_at:%Y-%m-%d}.")
    before = locked.audited()
    now = stored_now()
    copied = {name: getattr(locked, name) for name in ("account_id", "requester_id", "kind", "currency", "grant_id")}
    void = Payment(**copied, amount=-locked.amount, note=reason, reverses=locked, received_at=now, created=now)
    void.save(force_insert=True)
    locked.voided_at, locked.void_reason = now, reason
    audit.record("payment.voided", locked, before)
    return locked


def credit_paid_by(payment: Payment) -> Grant | None:
    """Return the open grant that was recorded with the payment, as of now."""
    named = Q(pk=payment.grant_id) | Q(external_id__in=[payment.pk, payment.external_id or payment.pk])
    grants = Grant.objects.filter(named, account=payment.account_id, ended_at__isnull=True)
    own = grants.filter(wallet__requester__in=[payment.requester_id, payment.requester.current.pk])
    grant = own.select_related("wallet__requester").first()
    if grant is None:
        return None
    [current] = grants_as_of(grant.wallet, [grant], stored_now())
    return current
