"""/v1/analytics/usage."""

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from accounts.viewsets import AccountViewSet
from analytics import windows
from analytics.usage.report import first_event, usage_report
from analytics.usage.serializers import UsageReport
from kit.rest.export import report_response


class UsageViewSet(AccountViewSet):
    permissions_required = {"usage": "analytics:read"}
    query_parameters = windows.USAGE.names
    exportable = {"usage": "usage"}
    heavy = frozenset({"usage"})
    serializer_class = UsageReport

    @extend_schema(summary="Get usage analytics", parameters=windows.USAGE.documented())
    @action(detail=False)
    def usage(self, request: Request) -> HttpResponseBase:
        """Exact: counts every answered decision, until `As-Of` if the reply has it.

        All figures are from one snapshot.
        """
        accounts = [self.account_id]
        window = windows.USAGE.parse(request.query_params, timezone.now(), lambda: first_event(accounts))
        return report_response(request, self.exportable["usage"], UsageReport, lambda: usage_report(accounts, window))
