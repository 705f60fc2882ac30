"""Lines of statements."""

from typing import Any

from django.db.models import QuerySet

from analytics.models import ClosedLine, StatementLine
from analytics.models.statements import StatementFigures


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
