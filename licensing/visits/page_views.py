"""Endpoint /v1/analytics/pages."""

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request

from analytics.report_files import report_response
from kit.rest.fields import Choice, Id, Timestamp
from kit.storage.reading import read_snapshot
from kit.values.canonical_pages import with_https
from kit.values.timestamps import render_timestamp
from licensing.crawler_classes import CLASSES, OTHER
from licensing.edge.current_crawlers import current_table
from licensing.requesters.models import Requester
from licensing.sites.identification import Identification
from licensing.sites.report_views import PERIOD, PERIOD_NAMES, PREFIX, SITE, SiteReportViewSet, present_period
from licensing.visits.figures import Visits
from licensing.visits.page_report import page_report
from licensing.visits.reading import Usage, VisitSelection, whole_days
from licensing.visits.report import MAX_ROWS
from licensing.visits.views import present_requester


class PageCounts(serializers.Serializer):
    """Numbers of requests by answer."""

    requests = serializers.IntegerField(min_value=0)
    allowed = serializers.IntegerField(min_value=0)
    observed = serializers.IntegerField(min_value=0, help_text="Allowed only because denials are observed.")
    denied = serializers.IntegerField(min_value=0)


class PagesOfDay(PageCounts):
    date = serializers.DateField(help_text="A UTC day.")


class PageVisitor(PageCounts):
    """A crawler or another visitor of these pages."""

    id = serializers.CharField(allow_null=True, help_text="The requester. Null for one that was deleted.")
    name = serializers.CharField(allow_null=True)
    operator = serializers.CharField(allow_null=True, help_text="Who runs the crawler.")
    crawlerClass = Choice(choices=list(CLASSES), help_text="`other` for a visitor that is not a known crawler.")
    identifiedBy = Choice(choices=[way.value for way in Identification])
    verified = serializers.BooleanField(help_text="Whether the visitor's identity is proven.")
    lastSeen = Timestamp(help_text="When the latest was decided.")


class VisitorOfPage(serializers.Serializer):
    id = serializers.CharField(allow_null=True)
    name = serializers.CharField(allow_null=True)
    requests = serializers.IntegerField(min_value=0)


class PageShown(PageCounts):
    """A page with the visitors that requested it most."""

    url = serializers.CharField(
        allow_null=True, help_text="Without query. Null for the sum of all pages beyond the first 20,000 of a day."
    )
    lastSeen = Timestamp(help_text="When the latest was decided.")
    visitors = VisitorOfPage(many=True, help_text="The ten with the most requests.")


class FolderShown(PageCounts):
    """A folder or a page directly below `url[prefix]`."""

    url = serializers.CharField(help_text="Ends with a slash for a folder: the next `url[prefix]`.")


class PageReportShown(serializers.Serializer):
    """Requests at the edge by page, by folder, by crawler and by day."""

    object = Choice(choices=["page_report"])
    siteId = Id("site", allow_null=True, help_text="Null if the report covers all sites.")
    startDate = Timestamp()
    endDate = Timestamp(help_text="Inclusive.")
    summary = PageCounts()
    timeSeries = PagesOfDay(many=True, help_text="Only days with requests.")
    byCrawler = PageVisitor(many=True, help_text=f"The {MAX_ROWS} visitors with most requests.")
    folders = FolderShown(many=True, help_text=f"The {MAX_ROWS} with most requests.")
    pages = PageShown(many=True, help_text=f"The {MAX_ROWS} with most requests.")


class PageViewSet(SiteReportViewSet):
    permissions_required = {"pages": "analytics:read"}
    exportable = {"pages": "pages"}
    heavy = frozenset({"pages"})
    serializer_class = PageReportShown
    query_parameters = PERIOD_NAMES | {"siteId", "url[prefix]"}

    @extend_schema(summary="Get page analytics", parameters=[*PERIOD, SITE, PREFIX])
    @action(detail=False)
    def pages(self, request: Request) -> HttpResponseBase:
        """Which pages crawlers and other visitors requested in whole UTC days, and what they were answered."""
        prefix = with_https(request.query_params.get("url[prefix]", ""))
        selection = VisitSelection([self.account_id], whole_days(self.parse_window()), self.find_site(), prefix)
        name = self.exportable["pages"]
        return report_response(request, name, PageReportShown, lambda: present_pages(selection))


def present_pages(selection: VisitSelection) -> dict[str, object]:
    with read_snapshot():
        report = page_report(Usage(selection))
    return {
        "object": "page_report",
        "siteId": None if selection.site is None else selection.site.pk,
        **present_period(selection.window),
        "summary": report.total.present_counts(),
        "timeSeries": [{"date": f"{day:%Y-%m-%d}", **visits.present_counts()} for day, visits in report.days.items()],
        "byCrawler": [present_visitor(*visitor) for visitor in report.visitors],
        "folders": [{"url": url, **visits.present_counts()} for url, visits in report.folders],
        "pages": [
            {
                "url": page.url or None,
                **page.visits.present_counts(),
                "lastSeen": render_timestamp(page.visits.last_seen),
                "visitors": [
                    {**present_requester(requester), "requests": number} for requester, number in page.visitors
                ],
            }
            for page in report.pages
        ],
    }


def present_visitor(requester: Requester | None, identified_by: str, visits: Visits) -> dict[str, object]:
    crawler = None if requester is None else current_table.get().by_requester.get(requester.requester_id)
    identification = Identification(identified_by)
    return {
        **present_requester(requester),
        "operator": None if crawler is None else crawler.operator,
        "crawlerClass": OTHER if crawler is None else crawler.crawler_class,
        "identifiedBy": identification.value,
        "verified": identification.verifies,
        **visits.present_counts(),
        "lastSeen": render_timestamp(visits.last_seen),
    }
