"""Endpoint /v1/analytics/observed."""

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.viewsets import AccountViewSet
from analytics.usage.report import first_event
from analytics.windows import MICROSECOND, USAGE
from kit.rest.export import json_report
from kit.rest.fields import Choice, Id, Timestamp
from licensing.access.serializers import ChargeShown
from licensing.edge.observed import observed_denials, observed_report, present_observed
from licensing.policies.decision import Reason
from licensing.sites.named import SITE_ID, site_named


class ObservedReason(serializers.Serializer):
    reason = Choice(choices=[reason.value for reason in Reason])
    count = serializers.IntegerField(min_value=0)


class ObservedRequester(serializers.Serializer):
    id = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    requests = serializers.IntegerField(min_value=0)
    revenueAtStake = ChargeShown(many=True, help_text="The prices of the denied accesses, by currency.")


class ObservedContent(serializers.Serializer):
    id = Id("cnt")
    title = serializers.CharField()
    requests = serializers.IntegerField(min_value=0)


class ObservedReport(serializers.Serializer):
    """Access that would have been refused if denials were enforced."""

    object = Choice(choices=["observed_report"])
    siteId = Id("site", allow_null=True, help_text="Null if the report covers all sites and policies.")
    startDate = Timestamp()
    endDate = Timestamp(help_text="Inclusive.")
    total = serializers.IntegerField(min_value=0)
    truncated = serializers.BooleanField(
        help_text="Whether the revenue covers only the newest 10,000 denials of those who could pay."
    )
    byReason = ObservedReason(many=True)
    byRequester = ObservedRequester(many=True, help_text="The ten with the most requests.")
    byContent = ObservedContent(many=True, help_text="The ten with the most. The pages of a site count as one.")
    revenueAtStake = ChargeShown(many=True, help_text="The prices of the denied accesses, by currency.")


class ObservedViewSet(AccountViewSet):
    permissions_required = {"observed": "analytics:read"}
    heavy = frozenset({"observed"})
    query_parameters = frozenset({"period", "startDate", "endDate", "timeZone", "siteId"})

    @extend_schema(
        summary="Get observed denials",
        parameters=[
            *(one for one in USAGE.documented() if one.name != "groupBy"),
            OpenApiParameter("siteId", SITE_ID, description="Only pages of this site."),
        ],
        responses=ObservedReport,
    )
    @action(detail=False)
    def observed(self, request: Request) -> Response:
        """Denials that were observed instead of enforced, with the price that each would have been offered."""
        accounts = [self.account_id]
        window = USAGE.parse(request.query_params, timezone.now(), lambda: first_event(accounts))
        site = site_named(self.account_id, request.query_params.get("siteId"))

        def report() -> dict[str, object]:
            report = observed_report(observed_denials(self.account_id, window.start, window.end, site))
            return present_observed(report, window.start, window.end - MICROSECOND, site)

        return json_report(report)
