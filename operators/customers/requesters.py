"""Requesters: their licences and their latest decisions. A first check or licence creates them."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html_join
from unfold.decorators import display

from analytics.models import AccessEvent, LedgerEntry
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from operators.base.filters import RelatedFilter
from operators.base.links import change_url, list_url
from operators.base.model_admin import ScopedAdmin
from operators.base.searching import find_requesters
from operators.catalogue.content import latest_decisions

LICENSES = 10


@admin.register(Requester)
class RequesterAdmin(ScopedAdmin[Requester]):
    list_display = ("requester_id", "name", "account", "first_seen")
    list_select_related = ("account",)
    list_filter = (("account", RelatedFilter),)
    search_fields = ("requester_id", "name")  # how: see operators.base.searching
    search_help_text = "The beginning of the requester's id, or words of the name by their beginnings."
    sortable_by = ()
    fields = readonly_fields = (
        "requester_id", "name", "account", "first_seen", "licenses_held", "decisions", "everything",
    )  # fmt: skip

    rights = {"licenses_held": "licensing.view_license", "decisions": "analytics.view_accessevent"}

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Requester], search_term: str
    ) -> tuple[QuerySet[Requester], bool]:
        return find_requesters(queryset, search_term), False

    @display(description="First seen (UTC)")
    def first_seen(self, requester: Requester) -> str:
        return f"{requester.created:%Y-%m-%d %H:%M}"

    @display(description="Licences")
    def licenses_held(self, requester: Requester) -> str:
        now = timezone.now()
        held = License.objects.filter(requester=requester).order_by("-pk")[:LICENSES]
        rows = ((change_url(one), one.license_type, one.state(now), term(one)) for one in held)
        return format_html_join("", '<div><a class="text-link" href="{}">{}</a> ({}) {}</div>', rows) or "none"

    @display(description="Latest decisions")
    def decisions(self, requester: Requester) -> str:
        events = AccessEvent.objects.filter(requester=requester).order_by("-created")
        return latest_decisions(events.select_related("content"), "content")

    @display(description="All of them")
    def everything(self, requester: Requester) -> str:
        models = ((License, "Licences"), (AccessEvent, "Decisions"), (LedgerEntry, "Ledger"))
        rows = ((list_url(model, requester__id__exact=str(requester.pk)), name) for model, name in models)
        return format_html_join(" · ", '<a class="text-link" href="{}">{}</a>', rows)


def term(held: License) -> str:
    """The term of a licence, as in "from 2026-01-01 00:00 to 2026-12-31 00:00"."""
    end = f"to {held.expires_at:%Y-%m-%d %H:%M}" if held.expires_at else "without end"
    return f"from {held.starts_at:%Y-%m-%d %H:%M} {end}"
