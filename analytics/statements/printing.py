"""Figures, lines and payments of a printed statement, as text."""

from decimal import Decimal

from analytics.models import ClosedLine, EntryType, Payment, Statement, StatementLine
from analytics.payments.models import PaymentKind
from analytics.statements.lines import lines_of, month_bounds, payments_of
from analytics.statements.serializers import counted_amount, voided_by
from analytics.wallets.units import in_units
from kit.values.currencies import in_places

MOST_LINES = 500  # lines shown; the export has all
CREDIT_NAMES = {"expired": "expired or voided"}


def credit_changes(statement: Statement) -> list[tuple[str, str]]:
    """Return what changed the customer's wallets in the statement's unit; empty without a wallet."""
    used = {"spent", "expired"}
    amounts = {name: 0 - amount if name in used else amount for name, amount in statement.credits.items()}
    return [(CREDIT_NAMES.get(name, name), in_units(amount, statement.currency)) for name, amount in amounts.items()]


def printed(statement: Statement) -> dict[str, object]:
    """Return a statement's template context: its first lines in order of booking, and the number of further ones."""
    lines = lines_of(statement).order_by("created", "pk")[:MOST_LINES]
    payments = payments_of(statement).order_by("created", "pk")[:MOST_LINES]
    paid_for_credit = statement.paid_for_credit
    figures = ("opening", "licenses", "usage", "adjustments", "total", "closing")
    return {
        "statement": statement,
        "lines": [shown_line(line) for line in lines],
        "more": max(0, statement.lines - MOST_LINES),
        **{name: in_places(getattr(statement, name), statement.currency) for name in figures},
        "fees": in_places(statement.fees or Decimal(0), statement.currency),
        "credits": credit_changes(statement),
        "is_quota": statement.is_quota,
        "zone": statement.account.zone,
        "payments": in_places(0 - statement.payments, statement.currency),  # as they add up
        "payouts": in_places(statement.payouts or Decimal(0), statement.currency),
        "paid_for_credit": paid_for_credit and in_places(paid_for_credit, statement.currency),
        "paid_lines": [shown_payment(payment, statement) for payment in payments],
    }


def shown_payment(payment: Payment, statement: Statement) -> dict[str, object]:
    """Return a payment, payout or void with its date and what the statement counts of it."""
    begin, end = month_bounds(statement)
    voided_at = voided_by(payment, end)
    counted = counted_amount(payment, begin, voided_at)
    what = "Payout" if payment.kind == PaymentKind.PAYOUT else "Payment"
    if payment.grant_id:
        what = "Payment for credit, not part of the balance"
    elif payment.kind == PaymentKind.PAYMENT:
        counted = 0 - counted  # as it changes the balance
    return {
        "at": payment.received_at,
        "what": what,
        "voided_at": voided_at,
        "about": payment.external_id or "",
        "counted": in_places(counted, payment.currency),
    }


def shown_line(line: StatementLine | ClosedLine) -> dict[str, object]:
    """Return a line with the name and id of its subject."""
    about = line.description or ""
    if not about and line.content is not None:
        about = line.content.title
    if not about and line.license_type:
        about = f"Licence of type {line.license_type}"
    is_refund = line.type == EntryType.ADJUSTMENT and line.amount < 0
    return {
        "line": line,
        "what": "Refund" if is_refund else line.get_type_display(),
        "about": about,
        "id": line.content_id or line.license_id or "",
        "amount": in_places(line.amount, line.currency),
    }
