"""Lines, payments and credit movements of statements."""

from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery

from analytics.models import ClosedLine, LedgerEntry, Payment, StatementLine, Wallet, WalletEntry
from analytics.models.statements import StatementFigures
from analytics.wallets.models import WalletEntryType
from kit.values.calendar import first_of_month


def lines_of(statement: StatementFigures) -> QuerySet[Any]:
    """Return the statement's lines, with the number of a refund or sale.

    Lines of closed statements come from their own table only, which is faster.
    """
    model = ClosedLine if statement.closed_at else StatementLine
    of_one = model._default_manager.filter(
        account=statement.account_id,
        requester=statement.requester_id,
        month=statement.month,
        currency=statement.currency,
    )
    own_number = LedgerEntry.objects.filter(pk=OuterRef("pk")).values("external_id")
    return of_one.select_related("content").annotate(own_number=Subquery(own_number))


def month_bounds(statement: StatementFigures) -> tuple[datetime, datetime]:
    """Return the first moment of the statement's month and of the month after it."""
    months = statement.account.months
    return months.start(statement.month), months.start(first_of_month(statement.month, 1))


def payments_of(statement: StatementFigures) -> QuerySet[Payment]:
    """Return the payments and payouts that were recorded or voided in the statement's month."""
    begin, end = month_bounds(statement)
    recorded = Q(created__gte=begin, created__lt=end)
    return Payment.objects.filter(
        recorded | Q(voided_at__gte=begin, voided_at__lt=end),
        reverses=None,
        account=statement.account_id,
        requester=statement.requester_id,
        currency=statement.currency,
    )


def credit_movements(statement: StatementFigures) -> QuerySet[WalletEntry]:
    """Return what changed the customer's wallets in the statement's month and unit, except charged checks."""
    if statement.requester is None:
        return WalletEntry.objects.none()
    begin, end = month_bounds(statement)
    # A merge may have given the wallet to the other customer.
    holders = [statement.requester_id, statement.requester.merged_into_id or statement.requester_id]
    wallets = Wallet.objects.filter(requester__in=holders, unit=statement.currency)
    moved = WalletEntry.objects.filter(wallet__in=wallets, requester=statement.requester_id)
    return moved.filter(created__gte=begin, created__lt=end).exclude(type=WalletEntryType.SPEND)
