"""Endpoint /v1/analytics/crawlers."""

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request

from analytics.report_files import report_response
from kit.http.errors import InvalidRequest
from kit.rest.fields import Choice, Id, Timestamp
from kit.storage.reading import read_snapshot
from kit.values.canonical_pages import with_https
from kit.values.decimals import render_amount
from licensing.access.serializers import ChargeShown
from licensing.crawler_classes import CLASSES
from licensing.edge.crawlers import Crawler, Referrer
from licensing.edge.observed import render_sums
from licensing.sites.report_views import PERIOD, PERIOD_NAMES, PREFIX, SITE, SiteReportViewSet, present_period
from licensing.visits.crawler_report import By, Taker, crawler_report
from licensing.visits.figures import Visits
from licensing.visits.reading import Usage, VisitSelection, whole_days

KINDS = ["ai", "search"]


class CrawlCounts(serializers.Serializer):
    """Crawler requests, by outcome."""

    requests = serializers.IntegerField(min_value=0)
    allowed = serializers.IntegerField(min_value=0)
    observed = serializers.IntegerField(
        min_value=0, help_text="Would be denied, but allowed because the site only observes."
    )
    denied = serializers.IntegerField(min_value=0)
    verified = serializers.IntegerField(min_value=0, help_text="Requests by crawlers with a verified identity.")
    violations = serializers.IntegerField(
        min_value=0, help_text="Requests for pages that the site's `robotsTxt` disallows for the crawler."
    )


class CrawlsAndMoney(CrawlCounts):
    """Crawler requests and revenue."""

    revenue = ChargeShown(many=True, help_text="Charges less refunds, by currency.")
    revenueAtStake = ChargeShown(many=True, help_text="Prices of observed denials, by currency.")


class CrawlsOfDay(CrawlCounts):
    date = serializers.DateField(help_text="A UTC day.")
    name = serializers.CharField(help_text="The class, operator or crawler, depending on `by`.")


class CrawlsOfClass(CrawlsAndMoney):
    crawlerClass = Choice(choices=list(CLASSES))


class CrawlsOfCrawler(CrawlsAndMoney):
    name = serializers.CharField()
    operator = serializers.CharField()
    crawlerClass = Choice(choices=list(CLASSES))


class CrawlsAndReferrals(CrawlsAndMoney):
    referrals = serializers.IntegerField(
        min_value=0,
        help_text="Readers sent by the operator's AI and search services. Without those of open pages, unless the "
        "site's `ask` is `everyone`.",
    )
    crawlsPerReferral = serializers.FloatField(
        allow_null=True,
        help_text="`requests` ÷ `referrals`, to two decimals. Too high where readers of open pages are not counted. "
        "Null if there were no referrals.",
    )


class CrawlsOfOperator(CrawlsAndReferrals):
    operator = serializers.CharField()


class ReferrerShown(serializers.Serializer):
    """A referring host of an AI or search service."""

    host = serializers.CharField(
        help_text="The host as listed in the referrer table. `google.*` covers all country domains."
    )
    name = serializers.CharField(allow_null=True, help_text="The service. Null if the table no longer lists the host.")
    operator = serializers.CharField(allow_null=True)
    kind = Choice(choices=KINDS, allow_null=True)
    referrals = serializers.IntegerField(min_value=0, help_text="Readers sent by this host.")


class CrawlerReportShown(serializers.Serializer):
    """Crawler requests and revenue at the edge, and the readers that crawler operators sent."""

    object = Choice(choices=["crawler_report"])
    siteId = Id("site", allow_null=True, help_text="Null if the report covers all sites.")
    startDate = Timestamp()
    endDate = Timestamp(help_text="Inclusive.")
    truncated = serializers.BooleanField(
        help_text="Whether `revenueAtStake` covers only the newest 10,000 observed denials of crawlers that could pay."
    )
    summary = CrawlsAndReferrals()
    timeSeries = CrawlsOfDay(many=True, help_text="Only days with requests.")
    byClass = CrawlsOfClass(many=True, help_text="Most requests first.")
    byOperator = CrawlsOfOperator(many=True, help_text="Most requests first.")
    byCrawler = CrawlsOfCrawler(many=True, help_text="Most requests first.")
    referrers = ReferrerShown(many=True, help_text="Most readers first.")


class CrawlerReportViewSet(SiteReportViewSet):
    permissions_required = {"crawlers": "analytics:read"}
    exportable = {"crawlers": "crawlers"}
    heavy = frozenset({"crawlers"})
    serializer_class = CrawlerReportShown
    query_parameters = PERIOD_NAMES | {"siteId", "url[prefix]", "by"}

    @extend_schema(
        summary="Get crawler analytics",
        parameters=[
            *PERIOD,
            SITE,
            PREFIX,
            OpenApiParameter(
                "by", str, enum=[by.value for by in By], default="class", description="Grouping of `timeSeries`."
            ),
        ],
    )
    @action(detail=False)
    def crawlers(self, request: Request) -> HttpResponseBase:
        """Returns crawler requests, robots.txt violations, revenue and referrals for whole UTC days."""
        query = request.query_params
        prefix = with_https(query.get("url[prefix]", ""))
        selection = VisitSelection([self.account_id], whole_days(self.parse_window()), self.find_site(), prefix)
        try:
            by = By(query.get("by", By.CLASS))
        except ValueError:
            raise InvalidRequest("Must be class, operator or crawler.", param="by") from None
        name = self.exportable["crawlers"]
        return report_response(request, name, CrawlerReportShown, lambda: present_crawlers(selection, by))


def present_crawlers(selection: VisitSelection, by: By) -> dict[str, object]:
    with read_snapshot():
        report = crawler_report(Usage(selection), by)
    return {
        "object": "crawler_report",
        "siteId": None if selection.site is None else selection.site.pk,
        **present_period(selection.window),
        "truncated": report.is_truncated,
        "summary": present_with_referrals(report.summary),
        "timeSeries": [
            {"date": f"{day:%Y-%m-%d}", "name": name, **present_counts(crawls)} for day, name, crawls in report.series
        ],
        "byClass": [{"crawlerClass": name, **present_taker(taker)} for name, taker in report.classes],
        "byOperator": [{"operator": name, **present_with_referrals(taker)} for name, taker in report.operators],
        "byCrawler": [present_crawler(crawler, taker) for crawler, taker in report.crawlers],
        "referrers": [present_referrer(host, service, number) for host, service, number in report.referrers],
    }


def present_crawler(crawler: Crawler, taker: Taker) -> dict[str, object]:
    return {
        "name": crawler.name,
        "operator": crawler.operator,
        "crawlerClass": crawler.crawler_class,
        **present_taker(taker),
    }


def present_referrer(host: str, service: Referrer | None, referrals: int) -> dict[str, object]:
    return {
        "host": host,
        "name": None if service is None else service.name,
        "operator": None if service is None else service.operator,
        "kind": None if service is None else service.kind,
        "referrals": referrals,
    }


def present_counts(crawls: Visits) -> dict[str, object]:
    return {**crawls.present_counts(), "verified": crawls.verified, "violations": crawls.violations}


def present_taker(taker: Taker) -> dict[str, object]:
    return {
        **present_counts(taker.crawls),
        "revenue": render_sums(taker.revenue),
        "revenueAtStake": render_sums(taker.at_stake),
    }


def present_with_referrals(taker: Taker) -> dict[str, object]:
    ratio = taker.crawls_per_referral
    return {
        **present_taker(taker),
        "referrals": taker.referrals,
        "crawlsPerReferral": None if ratio is None else render_amount(ratio),
    }
