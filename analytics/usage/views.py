"""/v1/analytics/usage."""

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request

from accounts.viewsets import AccountViewSet
from analytics import windows
from analytics.report_files import report_response
from analytics.usage.report import first_decision_hour, usage_report
from kit.rest.fields import Id


class UsageSummary(serializers.Serializer):
    totalRequests = serializers.IntegerField(min_value=0)
    allowed = serializers.IntegerField(min_value=0)
    denied = serializers.IntegerField(min_value=0)
    uniqueRequesters = serializers.IntegerField(min_value=0)
    uniqueContent = serializers.IntegerField(min_value=0)


class UsageBucket(serializers.Serializer):
    date = serializers.CharField(
        help_text="Start of the bucket: `YYYY-MM-DD` for days, weeks (Monday) and months (the first); "
        "a timestamp for hours."
    )
    requests = serializers.IntegerField(min_value=0)
    allowed = serializers.IntegerField(min_value=0)
    denied = serializers.IntegerField(min_value=0)


class UsedContent(serializers.Serializer):
    id = Id("cnt")
    title = serializers.CharField(allow_null=True, help_text="The title, even of a deleted item.")
    requests = serializers.IntegerField(min_value=1)


class ActiveRequester(serializers.Serializer):
    id = serializers.CharField(help_text="The requester's id as the caller gives it.")
    name = serializers.CharField(allow_null=True)
    requests = serializers.IntegerField(min_value=1)


class DenialReason(serializers.Serializer):
    reason = serializers.CharField()
    count = serializers.IntegerField(min_value=1)


class UsageReport(serializers.Serializer):
    summary = UsageSummary()
    timeSeries = UsageBucket(many=True, help_text="All buckets of the window, oldest first, including empty ones.")
    topContent = UsedContent(many=True, help_text="At most ten, by requests, then by id.")
    topRequesters = ActiveRequester(many=True, help_text="At most ten, by requests, then by id.")
    byDenialReason = DenialReason(many=True, help_text="Sums to `denied`. Most frequent first.")


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
        window = windows.USAGE.parse(request.query_params, timezone.now(), lambda: first_decision_hour(accounts))
        return report_response(request, self.exportable["usage"], UsageReport, lambda: usage_report(accounts, window))
