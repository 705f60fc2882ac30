"""/v1/analytics/revenue."""

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from accounts.viewsets import AccountViewSet
from analytics import windows
from analytics.ledger.due import book_charges
from analytics.rates.conversion import check_currency
from analytics.report_files import report_response
from analytics.revenue.report import MOST_EARNERS, TOP, first_entry, revenue_report
from analytics.revenue.serializers import RevenueReportSerializer, present
from kit.rest.pagination import parse_count
from kit.values.currencies import CURRENCIES

CURRENCY = OpenApiParameter(
    "currency",
    str,
    enum=CURRENCIES,
    default="USD",
    description=(
        "Entries are converted at the rate of their own day; without a rate they are in `unconverted`. Former "
        "currencies with rates are accepted."
    ),
)
EARNERS = OpenApiParameter(
    "top",
    {"type": "integer", "minimum": 1, "maximum": MOST_EARNERS, "default": TOP},
    description="The number of requesters, and of items, that the report lists at most.",
)


class RevenueViewSet(AccountViewSet):
    permissions_required = {"revenue": "analytics:read"}
    query_parameters = windows.REVENUE.names | {"currency", "top"}
    exportable = {"revenue": "revenue-report"}
    heavy = frozenset({"revenue"})
    serializer_class = RevenueReportSerializer

    @extend_schema(summary="Get revenue analytics", parameters=[*windows.REVENUE.documented(), CURRENCY, EARNERS])
    @action(detail=False)
    def revenue(self, request: Request) -> HttpResponseBase:
        """Exact: includes every ledger entry, until `As-Of` if the reply has it.

        Entries without an exchange rate are left out of the converted figures and listed in `unconverted`.
        """
        book_charges(self.account_id)
        now, accounts = timezone.now(), [self.account_id]
        window = windows.REVENUE.parse(request.query_params, now, lambda: first_entry(accounts))
        currency = check_currency(request.query_params.get("currency", "USD"))
        top = parse_count(request.query_params.get("top", str(TOP)), "top", MOST_EARNERS)

        def report() -> dict[str, object]:
            return present(revenue_report(accounts, window, currency, now, top=top), window)

        return report_response(request, self.exportable["revenue"], RevenueReportSerializer, report)
