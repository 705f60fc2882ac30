"""Endpoint /v1/analytics/observed."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from kit.rest.export import json_report
from kit.rest.fields import Choice, Id, Timestamp
from licensing.access.serializers import ChargeShown
from licensing.edge.observed import ObservedFigures, observed_denials, observed_report, render_sums
from licensing.policies.decision import Reason
from licensing.sites.report_views import PERIOD, PERIOD_NAMES, SITE, SiteReportViewSet, present_period


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


class ObservedViewSet(SiteReportViewSet):
    permissions_required = {"observed": "analytics:read"}
    heavy = frozenset({"observed"})
    query_parameters = PERIOD_NAMES | {"siteId"}

    @extend_schema(summary="Get observed denials", parameters=[*PERIOD, SITE], responses=ObservedReport)
    @action(detail=False)
    def observed(self, request: Request) -> Response:
        """Denials that were observed instead of enforced, with the price that each would have been offered."""
        window, site = self.parse_window(), self.find_site()

        def report() -> dict[str, object]:
            figures = observed_report(observed_denials(self.account_id, window.start, window.end, site))
            site_id = None if site is None else site.pk
            return {"object": "observed_report", "siteId": site_id, **present_period(window), **present(figures)}

        return json_report(report)


def present(report: ObservedFigures) -> dict[str, object]:
    return {
        "total": report.total,
        "truncated": report.priced < report.payable,
        "byReason": [{"reason": reason, "count": count} for reason, count in report.reasons],
        "byRequester": [
            {
                "id": row["requester_id"],
                "name": row["name"],
                "requests": row["count"],
                "revenueAtStake": render_sums(report.by_requester.get(row["requester_id"], {})),
            }
            for row in report.requesters
        ],
        "byContent": [{"id": row["id"], "title": row["title"], "requests": row["count"]} for row in report.items],
        "revenueAtStake": render_sums(report.at_stake),
    }
