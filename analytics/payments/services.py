"""Record payments, for the endpoint and the admin."""

from datetime import datetime
from decimal import Decimal
from typing import TypedDict

from django.db import IntegrityError, transaction

from accounts.auditing import audit
from analytics.ledger.services import checked_moment
from analytics.payments.models import Payment
from analytics.wallets.holders import unknown_requester
from kit.http.errors import AlreadyExists
from kit.rest.resources import referred_model
from kit.storage.reading import stored_now


class PaymentFields(TypedDict, total=False):
    """Validated fields of a payment."""

    id: str
    requester_id: str
    amount: Decimal
    currency: str
    received_at: datetime | None
    external_id: str | None
    note: str | None


@transaction.atomic
def record_payment(account_id: str, fields: PaymentFields) -> tuple[Payment, bool]:
    """Record a payment; return it and True, or the existing one and False if its `external_id` is already recorded.

    Raises ValidationFailed, and AlreadyExists if the existing payment has another requester, amount or currency.
    """
    rows = referred_model(Payment, "requester")._default_manager.select_for_update(no_key=True)
    requester = rows.filter(account_id=account_id, requester_id=fields["requester_id"]).first()
    if requester is None:
        raise unknown_requester(fields["requester_id"])
    now = stored_now()
    payment = Payment(
        **{name: fields[name] for name in ("id",) if name in fields},
        account_id=account_id,
        requester_id=requester.pk,
        amount=fields["amount"],
        currency=fields["currency"],
        received_at=checked_moment(fields.get("received_at"), now, "receivedAt"),
        external_id=fields.get("external_id"),
        note=fields.get("note"),
        created=now,
    )
    try:
        with transaction.atomic():
            payment.save(force_insert=True)
    except IntegrityError:
        if payment.external_id is None:  # its id is taken: a form was sent twice
            raise
        return known_payment(payment), False
    audit.record("payment.created", payment, {})
    return payment, True


def known_payment(payment: Payment) -> Payment:
    """Return the payment recorded with the same external_id. Raises AlreadyExists if it differs."""
    rows = Payment.objects.filter(account=payment.account_id, external_id=payment.external_id)
    known = rows.select_related("requester").get()
    alike = ("requester_id", "amount", "currency")
    if any(getattr(known, name) != getattr(payment, name) for name in alike):
        whose = known.requester.requester_id
        raise AlreadyExists(
            f"Another payment has the externalId {payment.external_id!r}: {known.pk}, {known} of {whose!r}.",
            param="externalId",
        )
    return known
