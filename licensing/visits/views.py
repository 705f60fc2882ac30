"""Endpoint /v1/analytics/visitors."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from kit.rest.export import json_report
from kit.rest.fields import Choice, Timestamp
from kit.storage.reading import read_snapshot
from kit.values.timestamps import render_timestamp
from licensing.crawler_classes import CLASSES
from licensing.requesters.models import Requester
from licensing.sites.identification import Identification
from licensing.sites.report_views import PERIOD, PERIOD_NAMES, SITE, SiteReportViewSet, present_period
from licensing.visits.figures import Visits
from licensing.visits.reading import Usage, VisitSelection, whole_days
from licensing.visits.report import MAX_ROWS, visitor_report


class VisitCounts(serializers.Serializer):
    """Numbers of visits by answer."""

    crawlerClass = Choice(choices=list(CLASSES), help_text="`other` for a visitor that is not a known crawler.")
    identifiedBy = Choice(choices=[way.value for way in Identification], help_text="How the visitor was identified.")
    verified = serializers.BooleanField(help_text="Whether the identity is proven, not only claimed.")
    allowed = serializers.IntegerField(min_value=0)
    observed = serializers.IntegerField(min_value=0, help_text="Allowed only because denials are observed.")
    denied = serializers.IntegerField(min_value=0)
    lastSeen = Timestamp(help_text="When the latest was decided.")


class VisitorShown(VisitCounts):
    """Visits of one visitor, with the requester that its decisions count for."""

    id = serializers.CharField(allow_null=True, help_text="Null if the requester was deleted.")
    name = serializers.CharField(allow_null=True, help_text="The latest name given.")


class VisitorReportShown(serializers.Serializer):
    """Visits at the edge by visitor and by crawler class."""

    object = Choice(choices=["visitor_report"])
    startDate = Timestamp()
    endDate = Timestamp(help_text="Inclusive.")
    total = serializers.IntegerField(min_value=0, help_text="Number of visitors.")
    byClass = VisitCounts(many=True, help_text="All visits, by crawler class and means of identification.")
    visitors = VisitorShown(many=True, help_text=f"The {MAX_ROWS} with most visits.")


class VisitorViewSet(SiteReportViewSet):
    permissions_required = {"visitors": "analytics:read"}
    heavy = frozenset({"visitors"})
    query_parameters = PERIOD_NAMES | {"siteId"}

    @extend_schema(summary="Get visitor analytics", parameters=[*PERIOD, SITE], responses=VisitorReportShown)
    @action(detail=False)
    def visitors(self, request: Request) -> Response:
        """Crawlers and other visitors in whole UTC days: how they were identified and what they were answered."""
        selection = VisitSelection([self.account_id], whole_days(self.parse_window()), self.find_site())
        return json_report(lambda: present_visitors(selection))


def present_visitors(selection: VisitSelection) -> dict[str, object]:
    with read_snapshot():
        report = visitor_report(Usage(selection))
    return {
        "object": "visitor_report",
        **present_period(selection.window),
        "total": report.total,
        "byClass": [present_visitor_counts(*counts) for counts in report.classes],
        "visitors": [
            {
                **present_requester(visitor.requester),
                **present_visitor_counts(visitor.visitor_class, visitor.identified_by, visitor.visits),
            }
            for visitor in report.visitors
        ],
    }


def present_visitor_counts(visitor_class: str, identified_by: Identification, visits: Visits) -> dict[str, object]:
    return {
        "crawlerClass": visitor_class,
        "identifiedBy": identified_by.value,
        "verified": identified_by.verifies,
        "allowed": visits.allowed,
        "observed": visits.observed,
        "denied": visits.denied,
        "lastSeen": render_timestamp(visits.last_seen),
    }


def present_requester(requester: Requester | None) -> dict[str, object]:
    if requester is None:
        return {"id": None, "name": None}
    return {"id": requester.requester_id, "name": requester.name}
