"""Figures, lines and payments of printed statements, as text."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from msgspec import Struct

from accounts.history.people import with_references
from accounts.models import AuditEntry
from analytics.models import ClosedLine, EntryType, Payment, Statement, StatementLine, WalletEntry
from analytics.payments.models import PaymentKind
from analytics.statements.lines import credit_movements, lines_of, month_bounds, payments_of
from analytics.statements.serializers import voided_by
from analytics.wallets.models import GrantKind, WalletEntryType
from analytics.wallets.units import in_units
from analytics.windows import MICROSECOND
from kit.values.currencies import in_places

MOST_LINES, MOST_PRINTED = 500, 10_000  # lines shown on a page or sheet, and of one printed alone; the export has all
CREDIT_NAMES = {"expired": "expired or voided"}
GRANT_NAMES = {
    GrantKind.PAID: "Paid credit",
    GrantKind.PROMOTIONAL: "Promotional credit",
    GrantKind.REFILL: "Refill",
    GrantKind.REFUND: "Refund",
}
MOVEMENT_NAMES = {WalletEntryType.EXPIRE: "Expired", WalletEntryType.VOID: "Voided", WalletEntryType.REFUND: "Refund"}


def credit_changes(statement: Statement) -> list[tuple[str, str]]:
    """Return what changed the customer's wallets in the statement's unit; empty without a wallet.

    What a merge moved is a row of its own, although the figures of statements count it as granted.
    """
    amounts = statement.credits
    if not amounts:
        return []
    merged = credit_movements(statement).filter(type=WalletEntryType.CARRY, grant=None)
    moved = merged.aggregate(sum=Sum("amount"))["sum"] or Decimal(0)
    changes = {
        "opening": amounts["opening"],
        "granted": amounts["granted"] - moved,
        "spent": 0 - amounts["spent"],
        "expired": 0 - amounts["expired"],
        "refunded": amounts["refunded"],
        "moved by a merge": moved,
        "closing": amounts["closing"],
    }
    if not moved:
        del changes["moved by a merge"]
    return [(CREDIT_NAMES.get(name, name), in_units(amount, statement.currency)) for name, amount in changes.items()]


def print_statements(
    request: HttpRequest, statements: Sequence[Statement], back: str, back_title: str, most: int = MOST_LINES
) -> HttpResponse:
    """Return a page with a sheet for each statement. `back` is the address that the page's link leads to."""
    title = f"{len(statements)} statements"
    if len(statements) == 1:
        title = statement_title(statements[0])
    sheets = [render_to_string("analytics/statement_sheet.html", printed(one, most)) for one in statements]
    context = {"title": title, "sheets": sheets, "back": back, "back_title": back_title}
    return render(request, "analytics/statement.html", context)


def statement_title(statement: Statement) -> str:
    """Return a title that tells statements apart: browsers propose it as the name of the PDF."""
    unit = "accesses" if statement.is_quota else statement.currency
    requester = statement.requester
    if requester is None:
        holder = "no customer"
    elif statement.requester_name:
        holder = f"{statement.requester_name} ({requester.requester_id})"
    else:
        holder = requester.requester_id
    return f"Statement {statement.month:%Y-%m}, {unit}, {holder}"


def printed(statement: Statement, most: int = MOST_LINES) -> dict[str, object]:
    """Return a statement's template context: its first lines in order of booking, and the number of further ones."""
    lines = lines_of(statement).order_by("created", "pk")[:most]
    payments = payments_of(statement).order_by("created", "pk")[:most]
    movements = credit_movements(statement).select_related("grant").order_by("created", "pk")[:most]
    account = statement.account
    paid_for_credit = statement.paid_for_credit
    figures = ("opening", "licenses", "usage", "adjustments", "total", "closing")
    return {
        "statement": statement,
        "title": statement_title(statement),
        "lines": [shown_line(line) for line in lines],
        "more": max(0, statement.lines - most),
        **{name: in_places(getattr(statement, name), statement.currency) for name in figures},
        "fees": in_places(statement.fees or Decimal(0), statement.currency),
        "credits": credit_changes(statement),
        "is_quota": statement.is_quota,
        "zone": account.zone,
        "our_address": former_address("account", account.pk, "address", statement) or account.address,
        "their_address": address_of_requester(statement),
        "now": timezone.now(),
        "payments": in_places(0 - statement.payments, statement.currency),  # as they add up
        "payouts": in_places(statement.payouts or Decimal(0), statement.currency),
        "paid_for_credit": paid_for_credit and in_places(paid_for_credit, statement.currency),
        "paid_lines": [shown_payment(row) for payment in payments for row in payment_rows(payment, statement)],
        "credit_lines": [shown_movement(entry, statement) for entry in movements],
    }


def address_of_requester(statement: Statement) -> object:
    """Return the address in the requester's metadata."""
    requester = statement.requester
    if requester is None:
        return None
    former = former_address("requester", requester.requester_id, "metadata", statement)
    return former or requester.metadata.get("address")


def former_address(kind: str, resource_id: str, field: str, statement: Statement) -> object:
    """Return the address that was replaced first since the statement was closed, so that a reprint has it; else None.

    `field` is the address, or metadata with it.
    """
    if statement.closed_at is None:
        return None
    changes = AuditEntry.objects.filter(with_references("resource_id")([resource_id]), account=statement.account_id)
    later = changes.filter(resource_type=kind, created__gt=statement.closed_at, changes__has_key=field)
    for change in later.order_by("created", "pk").iterator():
        before = change.changes[field][0]
        address = before.get("address") if isinstance(before, dict) else before
        if address:
            return address
    return None


class PaymentRow(Struct, frozen=True):
    """A payment that was recorded or voided in the month. `amount` is the change to the balance."""

    payment: Payment
    at: datetime
    kind: str
    what: str
    amount: Decimal


def payment_rows(payment: Payment, statement: Statement) -> list[PaymentRow]:
    """Return a row if the month recorded a payment or payout, and one if the month voided it."""
    begin, end = month_bounds(statement)
    amount = payment.amount
    if payment.kind == PaymentKind.PAYMENT and not payment.grant_id:
        amount = 0 - amount  # as it changes the balance
    rows = []
    if payment.created >= begin:
        rows.append(PaymentRow(payment, payment.received_at, str(payment.kind), payment_name(payment), amount))
    voided_at = voided_by(payment, end)
    if voided_at is not None:
        received = f"{payment.received_at.astimezone(statement.account.zone):%Y-%m-%d}"
        reason = f": {payment.void_reason}" if payment.void_reason else ""
        what = f"Void of the {payment.kind} of {received}{reason}"
        rows.append(PaymentRow(payment, voided_at, "void", what, 0 - amount))
    return rows


def shown_payment(row: PaymentRow) -> dict[str, object]:
    amount = in_places(row.amount, row.payment.currency)
    return {"at": row.at, "what": row.what, "about": row.payment.external_id or "", "amount": amount}


def payment_name(payment: Payment) -> str:
    if payment.grant_id:
        return "Payment for credit, not part of the balance"
    is_payout = payment.kind == PaymentKind.PAYOUT
    if payment.is_transfer:
        return f"Transfer {'to' if is_payout else 'from'} another customer, with the credit that it paid for"
    return "Payout" if is_payout else "Payment"


def shown_movement(entry: WalletEntry, statement: Statement) -> dict[str, object]:
    """Return a change of a wallet, with the grant's number and when its credit ends."""
    grant = entry.grant
    last = None
    if grant is not None and grant.expires_at is not None and entry.amount > 0:
        last = grant.expires_at - MICROSECOND  # credit that ends at midnight is good for the day before
    if entry.type == WalletEntryType.CARRY:
        what = "Moved by a merge" if grant is None else "Rolled over"
    elif entry.type == WalletEntryType.GRANT and grant is not None:
        what = GRANT_NAMES[GrantKind(grant.kind)]
    else:
        what = MOVEMENT_NAMES.get(WalletEntryType(entry.type), "Credit")
        if grant is not None and entry.type in (WalletEntryType.EXPIRE, WalletEntryType.VOID):
            what = f"{what}: {GRANT_NAMES[GrantKind(grant.kind)].lower()}"
    return {
        "at": entry.created,
        "what": what,
        "about": "" if grant is None else grant.external_id or "",
        "ends": last,
        "amount": in_units(entry.amount, statement.currency),
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
