"""Lines and payments of statements."""

from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from analytics.models import ClosedLine, Payment, StatementLine
from analytics.models.statements import StatementFigures
from kit.values.calendar import first_of_month


def lines_of(statement: StatementFigures) -> QuerySet[Any]:
    """Return the statement's lines. Lines of closed statements come from their own table only, which is faster."""
    model = ClosedLine if statement.closed_at else StatementLine
    of_one = model._default_manager.filter(
        account=statement.account_id,
        requester=statement.requester_id,
        month=statement.month,
        currency=statement.currency,
    )
    return of_one.select_related("content")


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
