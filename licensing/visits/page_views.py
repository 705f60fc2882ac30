"""Endpoint /v1/analytics/pages."""

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request

from accounts.viewsets import AccountViewSet
from analytics.usage.report import first_event
from analytics.windows import MICROSECOND, USAGE
from kit.rest.export import report_response
from kit.rest.fields import Choice as OneOf
from kit.rest.fields import Id, Timestamp
from kit.values.pages import with_https
from kit.values.timestamps import render_timestamp
from licensing.edge.crawler_views import CLASSES
from licensing.edge.current_crawlers import current_table
from licensing.requesters.models import Requester
from licensing.sites.identification import Identification
from licensing.sites.named import SITE_ID, site_named
from licensing.visits.figures import Visits
from licensing.visits.page_report import PageReport, page_report
from licensing.visits.reading import Choice, whole_days
from licensing.visits.report import OTHER, TOP


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
    crawlerClass = OneOf(choices=CLASSES, help_text="`other` for a visitor that is not a known crawler.")
    identifiedBy = OneOf(choices=[way.value for way in Identification])
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

    object = OneOf(choices=["page_report"])
    siteId = Id("site", allow_null=True, help_text="Null if the report covers all sites.")
    startDate = Timestamp()
    endDate = Timestamp(help_text="Inclusive.")
    summary = PageCounts()
    timeSeries = PagesOfDay(many=True, help_text="Only days with requests.")
    byCrawler = PageVisitor(many=True, help_text=f"The {TOP} visitors with most requests.")
    folders = FolderShown(many=True, help_text=f"The {TOP} with most requests.")
    pages = PageShown(many=True, help_text=f"The {TOP} with most requests.")


class PageViewSet(AccountViewSet):
    permissions_required = {"pages": "analytics:read"}
    exportable = {"pages": "pages"}
    heavy = frozenset({"pages"})
    serializer_class = PageReportShown
    query_parameters = frozenset({"period", "startDate", "endDate", "timeZone", "siteId", "url[prefix]"})

    @extend_schema(
        summary="Get page analytics",
        parameters=[
            *(parameter for parameter in USAGE.documented() if parameter.name != "groupBy"),
            OpenApiParameter("siteId", SITE_ID, description="Only pages of this site."),
            OpenApiParameter(
                "url[prefix]",
                str,
                description="Only pages below this URL, for example `https://publisher.example/news/`.",
            ),
        ],
    )
    @action(detail=False)
    def pages(self, request: Request) -> HttpResponseBase:
        """Which pages crawlers and other visitors requested in whole UTC days, and what they were answered."""
        accounts, query = [self.account_id], request.query_params
        window = whole_days(USAGE.parse(query, timezone.now(), lambda: first_event(accounts)))
        site = site_named(self.account_id, query.get("siteId"))
        choice = Choice(accounts, window, site, with_https(query.get("url[prefix]", "")))
        name = self.exportable["pages"]
        return report_response(request, name, PageReportShown, lambda: present_pages(page_report(choice), choice))


def present_pages(report: PageReport, choice: Choice) -> dict[str, object]:
    window = choice.window
    return {
        "object": "page_report",
        "siteId": None if choice.site is None else choice.site.pk,
        "startDate": render_timestamp(window.start),
        "endDate": render_timestamp(window.end - MICROSECOND),
        "summary": present_counts(report.total),
        "timeSeries": [{"date": f"{day:%Y-%m-%d}", **present_counts(visits)} for day, visits in report.days.items()],
        "byCrawler": [present_visitor(*visitor) for visitor in report.visitors],
        "folders": [{"url": url, **present_counts(visits)} for url, visits in report.folders],
        "pages": [
            {
                "url": page.url or None,
                **present_counts(page.visits),
                "lastSeen": render_timestamp(page.visits.last_seen),
                "visitors": [
                    {**render_requester(requester), "requests": number} for requester, number in page.visitors
                ],
            }
            for page in report.pages
        ],
    }


def present_counts(visits: Visits | None) -> dict[str, object]:
    if visits is None:
        return {"requests": 0, "allowed": 0, "observed": 0, "denied": 0}
    return {
        "requests": visits.total,
        "allowed": visits.allowed,
        "observed": visits.observed,
        "denied": visits.denied,
    }


def render_requester(requester: Requester | None) -> dict[str, object]:
    if requester is None:
        return {"id": None, "name": None}
    return {"id": requester.requester_id, "name": requester.name}


def present_visitor(requester: Requester | None, identified_by: str, visits: Visits) -> dict[str, object]:
    crawler = None if requester is None else current_table.get().by_requester.get(requester.requester_id)
    by = Identification(identified_by)
    return {
        **render_requester(requester),
        "operator": None if crawler is None else crawler.operator,
        "crawlerClass": OTHER if crawler is None else crawler.crawler_class,
        "identifiedBy": by.value,
        "verified": by.verifies,
        **present_counts(visits),
        "lastSeen": render_timestamp(visits.last_seen),
    }
