"""The overview's revenue as a file, with all customers and items."""

from collections.abc import Mapping

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from analytics.ledger.due import book_due
from analytics.report_files import report_file
from analytics.revenue.report import MOST_EARNERS, revenue_report
from analytics.revenue.serializers import RevenueReportSerializer, present
from kit.rest.heavy_mark import heavy
from operators.base.figures.choice import chosen_window, read_selection


@heavy
def revenue_file(request: HttpRequest) -> HttpResponseBase:
    """Return the report of the query's account, period and currency, as the overview chooses them."""
    if not request.user.has_perm("analytics.view_ledgerentry"):
        raise PermissionDenied
    now = timezone.now()
    choice = read_selection(request)
    window = chosen_window(choice, now)

    def report() -> Mapping[str, object]:
        if not choice.accounts:
            return {}
        return present(revenue_report(choice.account_ids, window, choice.currency, now, top=MOST_EARNERS), window)

    if choice.accounts:
        book_due(choice.account.pk if choice.account else None)
    return report_file(Request(request), "csv", "revenue", RevenueReportSerializer, report, has_bom=True)
