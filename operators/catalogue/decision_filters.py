"""Filters of the list of decisions."""

from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import DropdownFilter, TextFilter

from analytics.events.partitions import first_decision_id
from analytics.models import AccessEvent
from licensing.access.filters import begins_with, is_page, recorded_fact
from licensing.policies.decision import UNMET_DEMAND, Reason
from licensing.sites.models import Site
from operators.base.filters import LocalDateTimeFilter, OptionsFilter
from operators.base.mixins import AdminMixin
from operators.base.scope import listed_account_id, request_scope

MAX_SCANNED = 50_000
MAX_SITES = 500  # to choose from
MAX_ADDRESS = 2_048  # characters of a page's address
OUTCOMES = ("allowed", "denied")
OBSERVED = "observed"
UNMET = "unmet_demand"
AND_MORE = "*"


class RecordedFilter(LocalDateTimeFilter):
    """Filters by id, too, because partitions are by id; a decision's time and id are close."""

    SLACK = timedelta(hours=1)

    def at_least(self, moment: datetime) -> dict[str, object]:
        return {**super().at_least(moment), "pk__gte": first_decision_id(moment - self.SLACK)}

    def at_most(self, moment: datetime) -> dict[str, object]:
        return {**super().at_most(moment), "pk__lt": first_decision_id(moment + self.SLACK)}


def bounded_scan(events: QuerySet[AccessEvent], limit: int = MAX_SCANNED) -> QuerySet[AccessEvent]:
    """Restrict a query to the newest decisions, for filters without an index. Ids sort by time of recording."""
    oldest = next(iter(events.select_related(None).only("pk").order_by("-pk")[limit - 1 : limit]), None)
    return events if oldest is None else events.filter(pk__gte=oldest.pk)


class OutcomeFilter(OptionsFilter[AccessEvent]):
    """Searches the newest MAX_SCANNED decisions that match the other filters."""

    title = "outcome"
    parameter_name = "outcome"
    options = {
        "allowed": "allowed",
        "denied": "denied",
        OBSERVED: "allowed (observed)",
        UNMET: "denied, might have paid",
        **{reason.value: f"denied: {reason.value}" for reason in Reason},
    }

    def apply_option(self, queryset: QuerySet[AccessEvent], value: str) -> QuerySet[AccessEvent]:
        newest = bounded_scan(queryset)
        if value == OBSERVED:
            return newest.filter(observed__isnull=False)
        if value == UNMET:
            return newest.filter(reason__in=UNMET_DEMAND)
        if value in OUTCOMES:
            return newest.filter(allowed=value == "allowed")
        return newest.filter(reason=value)


class SiteFilter(DropdownFilter):
    """The site of decisions at the edge. Searches the newest MAX_SCANNED decisions, like OutcomeFilter."""

    title = "site"
    parameter_name = "site"

    def has_output(self) -> bool:
        return bool(self.lookup_choices)

    def lookups(self, request: HttpRequest, model_admin: AdminMixin[AccessEvent]) -> list[tuple[str, str]]:
        chosen = listed_account_id(request)
        sites = request_scope(request).narrow(Site.objects.select_related("account").order_by("host", "pk"))
        sites = sites if chosen is None else sites.filter(account_id=chosen)
        shown_sites = list(sites[:MAX_SITES])
        is_one = len({site.account_id for site in shown_sites}) < 2
        return [(site.pk, site.host if is_one else f"{site.host} ({site.account.name})") for site in shown_sites]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AccessEvent]) -> QuerySet[AccessEvent]:
        value = self.value()
        if not value:
            return queryset
        return bounded_scan(queryset).filter(recorded_fact("siteId")([value]))


class PageFilter(TextFilter):
    """The address of a page, or its beginning followed by `*`. Searches the newest MAX_SCANNED decisions."""

    title = f"page (end with {AND_MORE} to match a prefix)"
    parameter_name = "page"

    def queryset(self, request: HttpRequest, queryset: QuerySet[AccessEvent]) -> QuerySet[AccessEvent]:
        address = (self.value() or "").strip()[:MAX_ADDRESS].replace("\0", "")
        if not address:
            return queryset
        url = address if "://" in address else f"https://{address}"
        is_here = begins_with(url.removesuffix(AND_MORE)) if url.endswith(AND_MORE) else is_page([url])
        return bounded_scan(queryset).filter(is_here)
