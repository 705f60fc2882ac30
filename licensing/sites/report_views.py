"""The base of endpoints that report about sites: their parameters, window and site."""

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter

from accounts.viewsets import AccountViewSet
from analytics.usage.report import first_decision_hour
from analytics.windows import MICROSECOND, USAGE, Window
from kit.http.errors import InvalidRequest
from kit.values import ids
from kit.values.timestamps import render_timestamp
from licensing.sites.models import Site

PERIOD = [parameter for parameter in USAGE.documented() if parameter.name != "groupBy"]
PERIOD_NAMES = frozenset({"period", "startDate", "endDate", "timeZone"})
SITE_ID = {"type": "string", "pattern": f"^site_{ids.TEXT}$"}
SITE = OpenApiParameter("siteId", SITE_ID, description="Only pages of this site.")
PREFIX = OpenApiParameter(
    "url[prefix]", str, description="Only pages below this URL, for example `https://publisher.example/news/`."
)


class SiteReportViewSet(AccountViewSet):
    def parse_window(self) -> Window:
        return USAGE.parse(self.request.query_params, timezone.now(), lambda: first_decision_hour([self.account_id]))

    def find_site(self) -> Site | None:
        """Return the site that the query names, or None. Raises InvalidRequest for an unknown site."""
        site_id = self.request.query_params.get("siteId")
        if site_id is None:
            return None
        sites = Site.objects.filter(account_id=self.account_id)
        is_id = ids.decode("site", site_id) is not None
        site = sites.filter(pk=site_id).first() if is_id else None
        if site is None:
            raise InvalidRequest("There is no such site.", param="siteId")
        return site


def present_period(window: Window) -> dict[str, object]:
    return {"startDate": render_timestamp(window.start), "endDate": render_timestamp(window.end - MICROSECOND)}
