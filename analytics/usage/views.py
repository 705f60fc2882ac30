"""/v1/analytics (spec §4.10)."""

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from accounts.api_view import AccountView
from analytics import windows
from analytics.usage.report import first_event, usage_report
from analytics.usage.serializers import UsageReport
from kit.rest.export import report_response


class Usage(AccountView):
    permissions_required = {"GET": "analytics:read"}
    query_parameters = windows.USAGE.names | {"format"}
    exportable = "usage"
    heavy = frozenset({"GET"})
    serializer_class = UsageReport

    @extend_schema(summary="Get usage analytics", parameters=windows.USAGE.documented())
    def get(self, request: Request) -> HttpResponseBase:
        """Exact and current: a decision that was answered is counted. All figures are of one moment."""
        accounts = [self.account_id]
        window = windows.USAGE.parse(request.query_params, timezone.now(), lambda: first_event(accounts))
        return report_response(request, self.exportable, UsageReport, lambda: usage_report(accounts, window))
