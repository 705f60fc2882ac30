"""The demo's customers who paid in advance: their wallets, payments and checks."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from accounts.models import Account
from analytics.payments.services import record_payment
from analytics.wallets import services as wallet_services
from analytics.wallets.units import ACCESS
from licensing.access.check_values import Check
from licensing.access.checks import check_and_record
from licensing.demo.story import PREPAID


def open_wallets(account: Account, opened: datetime) -> None:
    """Open the wallets with their paid credit, as of the demo's start. The customers' licences exist already."""
    for customer in PREPAID:
        amount, currency = customer.paid
        order = f"order-{customer.id}"
        terms: dict[str, object] = {
            "requester_id": customer.id,
            "unit": customer.unit,
            "thresholds": [{"percent": customer.low_percent}],
        }
        wallet = wallet_services.create_wallet(account.pk, terms, opened)
        grant: dict[str, object] = {"amount": Decimal(customer.granted), "kind": "paid", "external_id": order}
        paid = {"amount": Decimal(amount), "currency": currency}
        if customer.unit == ACCESS:  # no charge stands for these accesses, so the payment is for the credit
            grant["paid"] = paid
        else:
            payment = {"requester_id": customer.id, "received_at": opened, "external_id": order, **paid}
            record_payment(account.pk, payment, opened)
        wallet_services.add_grant(wallet, grant, opened)


def record_prepaid_checks(account: Account, external_ids: Sequence[str], begin: datetime, end: datetime) -> None:
    """Decide and record the customers' checks of these items, evenly from `begin` to `end`."""
    for customer in PREPAID:
        for number in range(customer.checks):
            check = Check(
                selector=("externalId", external_ids[number % len(external_ids)]),
                requester_id=customer.id,
                requester_name=customer.name,
                permission="read",
            )
            moment = begin + (end - begin) * (number + 1) / (customer.checks + 1)
            check_and_record(account.pk, [check], moment, None)
