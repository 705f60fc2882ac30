"""The overview's revenue as a file, with all customers and items."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from analytics.ledger.due import book_due
from analytics.report_files import columns_of_report, rows_of_report
from analytics.revenue.report import MOST_EARNERS, revenue_report
from analytics.revenue.serializers import RevenueReportSerializer, present
from kit.rest.export import export
from kit.rest.heavy import heavy
from kit.storage.reading import use_memory
from kit.storage.replica import Reading
from operators.base.figures.choice import chosen_window, read_selection


@heavy
def revenue_file(request: HttpRequest, site: object) -> HttpResponseBase:
    """Return the report of the query's account, period and currency, as the overview chooses them."""
    if not request.user.has_perm("analytics.view_ledgerentry"):
        raise PermissionDenied
    now = timezone.now()
    choice = read_selection(request)
    window = chosen_window(choice, now)
    rows = []
    reading = Reading()
    if choice.accounts:
        book_due(choice.account.pk if choice.account else None)
        with use_memory():
            report = reading.read(
                lambda: revenue_report(choice.account_ids, window, choice.currency, now, top=MOST_EARNERS)
            )
        rows = rows_of_report(present(report, window))
    return export(
        Request(request), "csv", "revenue", columns_of_report(RevenueReportSerializer), [rows], reading, has_bom=True
    )
