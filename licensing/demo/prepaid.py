"""The demo's customers who paid in advance: their wallets, payments and checks."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from accounts.models import Account
from analytics.payments.services import record_payment
from analytics.wallets import services as wallet_services
from licensing.access.check_values import Check
from licensing.access.checks import check_and_record
from licensing.demo.story import PREPAID


def open_wallets(account: Account, opened: datetime) -> None:
    """Open the wallets with their paid credit, as of the demo's start. The customers' licences exist already."""
    for one in PREPAID:
        amount, currency = one.paid
        order = f"order-{one.id}"
        record_payment(
            account.pk,
            {
                "requester_id": one.id,
                "amount": Decimal(amount),
                "currency": currency,
                "received_at": opened,
                "external_id": order,
            },
            opened,
        )
        terms: dict[str, object] = {"requester_id": one.id, "unit": one.unit, "thresholds": [{"percent": one.low}]}
        wallet = wallet_services.create_wallet(account.pk, terms, opened)
        grant: dict[str, object] = {"amount": Decimal(one.granted), "kind": "paid", "external_id": order}
        wallet_services.add_grant(wallet, grant, opened)


def record_prepaid_checks(account: Account, names: Sequence[str], begin: datetime, end: datetime) -> None:
    """Decide and record the customers' checks, evenly from `begin` to `end`. `names` are externalIds of items."""
    for one in PREPAID:
        for number in range(one.checks):
            check = Check(
                selector=("externalId", names[number % len(names)]),
                requester_id=one.id,
                requester_name=one.name,
                permission="read",
            )
            check_and_record(account.pk, [check], begin + (end - begin) * (number + 1) / (one.checks + 1), None)
