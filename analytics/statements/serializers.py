"""Serializers of statements."""

from datetime import datetime
from decimal import Decimal

from orjson import Fragment

from analytics.models import EntryType, Payment, Statement, StatementLine
from analytics.payments.models import PaymentKind
from kit.rest.fields import Choice, Id, Integer, Text, Timestamp
from kit.rest.money import Amount
from kit.rest.rows import RowSerializer
from kit.rest.serializers import StrictSerializer
from kit.values.decimals import render_amount
from kit.values.json_values import Rendered
from kit.values.timestamps import render_timestamp


class StatementCreditsSerializer(StrictSerializer):
    """Changes in the requester's wallets of this currency."""

    opening = Amount(help_text="Wallet balances at the start of the month.")
    granted = Amount(help_text="Grants and refills, without what rolled over.")
    spent = Amount(help_text="The amount spent by charged checks.")
    expired = Amount(help_text="The amount expired or voided.")
    refunded = Amount(help_text="Refunds that returned to the wallets.")
    closing = Amount(help_text="`opening` + `granted` - `spent` - `expired` + `refunded`.")


class StatementSerializer(RowSerializer):
    """A requester's charges, payments and credit movements of one month, in one currency."""

    id = Id("stm")
    object = Choice(choices=["statement"])
    requesterId = Text(allow_null=True, help_text="Null for entries that name no requester.")
    requesterName = Text(allow_null=True, help_text="In a closed statement, the name when it was closed.")
    month = Text(
        help_text="The month in which the entries were recorded, in the account's `timeZone`, for example `2026-01`."
    )
    currency = Text(help_text="ISO 4217, or `access` for quotas.")
    status = Choice(choices=["open", "closed"], help_text="A closed statement never changes.")
    opening = Amount(help_text="The sum of all earlier months.")
    licenses = Amount(help_text="Prices of licences.")
    fees = Amount(help_text="Recurring fees of licences.")
    usage = Amount(help_text="Charged checks.")
    adjustments = Amount(help_text="Refunds, and sales made elsewhere.")
    total = Amount(help_text="Charges of the month by kind: `licenses`, `fees`, `usage` and `adjustments`.")
    charges = Amount(help_text="Gross charges: `total` + `refunds`.")
    refunds = Amount(help_text="The sum of negative adjustments.")
    payments = Amount(help_text="Payments by the requester, less voids.")
    payouts = Amount(help_text="Money given back to the requester, less voids.")
    paidForCredit = Amount(
        help_text="What the requester paid for wallet credit, less voids. Does not change `closing`."
    )
    closing = Amount(help_text="The amount owed: `opening` + `charges` - `refunds` - `payments` + `payouts`.")
    credits = StatementCreditsSerializer(allow_null=True, help_text="Null without a wallet in the currency.")
    decisions = Integer(min_value=0, help_text="Number of charged checks.")
    lines = Integer(min_value=0, help_text="Number of ledger lines in the statement.")
    closedAt = Timestamp(allow_null=True, help_text="When the month was closed; null while it is open.")

    attributes = {"requesterId": "requester.requester_id"}

    def show_month(self, statement: Statement) -> str:
        return f"{statement.month:%Y-%m}"

    def show_credits(self, statement: Statement) -> Rendered | None:
        return {name: render_amount(amount) for name, amount in statement.credits.items()} or None


class StatementLineSerializer(RowSerializer):
    """A licence's price, a fee, an adjustment, or all charges of the month for one licence and item."""

    id = Id("led", help_text="The line's ledger entry; of charges the first one.")
    object = Choice(choices=["statement_line"])
    type = Choice(choices=EntryType.choices)
    amount = Amount()
    currency = Text()
    decisions = Integer(min_value=0, help_text="Number of charged checks; 0 for other types.")
    licenseId = Text(allow_null=True)
    licenseType = Text(allow_null=True)
    contentId = Text(allow_null=True)
    contentTitle = Text(allow_null=True, help_text="Current title, even of a deleted item. Null without an item.")
    description = Text(allow_null=True)
    externalId = Text(allow_null=True, help_text="Of a refund or another adjustment.")
    occurredAt = Timestamp(help_text="When reports count the entry; for charges, the first one.")
    created = Timestamp(help_text="When the entry was recorded; for charges, the first one.")
    latest = Timestamp(help_text="When the last entry was recorded.")

    attributes = {"contentTitle": "content.title", "externalId": "own_number"}

    def show_decisions(self, line: StatementLine) -> int:
        return line.entries if line.type == EntryType.USAGE else 0


class StatementPaymentSerializer(RowSerializer):
    """A payment, payout or void that a statement counts."""

    id = Id("pay")
    object = Choice(choices=["statement_payment"])
    kind = Choice(choices=PaymentKind.choices)
    amount = Amount()
    counted = Amount(
        help_text="What this statement counts: negative if it voids a payment of an earlier month, 0 if it has both."
    )
    currency = Text()
    receivedAt = Timestamp(help_text="When the money arrived or left.")
    externalId = Text(allow_null=True)
    grantId = Id("grt", allow_null=True, help_text="The credit that it paid for: counted in `paidForCredit`.")
    created = Timestamp(help_text="When it was recorded.")
    voidedAt = Timestamp(allow_null=True, help_text="Null if it was not voided by the end of the month.")

    def show_voided_at(self, payment: Payment) -> str | None:
        return render_timestamp(voided_by(payment, self.context["month"][1]))

    def show_counted(self, payment: Payment) -> Fragment:
        begin, end = self.context["month"]
        recorded = payment.amount if payment.created >= begin else ZERO
        voided = payment.amount if voided_by(payment, end) is not None else ZERO
        return render_amount(recorded - voided)


ZERO = Decimal(0)


def voided_by(payment: Payment, end: datetime) -> datetime | None:
    """Return when the payment was voided, if that was before `end`."""
    return payment.voided_at if payment.voided_at is not None and payment.voided_at < end else None
