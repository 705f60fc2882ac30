"""Recorded decisions: searchable by id, newest first, each with its trace in words."""

from operator import attrgetter
from typing import ClassVar, cast
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from unfold.decorators import action, display

from analytics.ledger.refunds import Charge
from analytics.models import AccessEvent
from kit.rest.export import Row
from kit.values.timestamps import render_timestamp
from licensing.access.archived.queryset import ORDER_BY_ID, ORDER_BY_TIME, HistoryQuerySet
from licensing.policies.facts import FACTS_BY_NAME
from operators.base.exporting import ListExport
from operators.base.filters import RelatedFilter
from operators.base.links import Option
from operators.base.lists.columns import time_column
from operators.base.model_admin import BoundedChangeList
from operators.base.pages import EmptyState
from operators.base.rights import right
from operators.base.scope import CHECK_PERMISSIONS, listed_account_id, request_scope
from operators.base.searching import CustomerSearch
from operators.base.times import TO_SECOND
from operators.catalogue.decision_filters import OutcomeFilter, PageFilter, RecordedFilter, SiteFilter
from operators.catalogue.decision_page import DecisionPage, EventOnPage
from operators.customers.refund_button import RefundableCharge, RefundButton

SINGLE_OBJECT_FILTERS = frozenset({"account__id__exact", "content__id__exact", "requester__id__exact"})
# The columns of a file with decisions.
EXPORTED_COLUMNS = {
    "id": attrgetter("pk"),
    "created": attrgetter("created"),
    "allowed": attrgetter("allowed"),
    "reason": attrgetter("reason"),
    "contentId": attrgetter("content_id"),
    "title": attrgetter("content.title"),
    "requesterId": attrgetter("requester.requester_id"),
    "requesterName": attrgetter("requester.name"),
    "permission": attrgetter("permission"),
    "policyId": attrgetter("policy_id"),
    "policyVersion": attrgetter("policy_version"),
}
EXPORTED_FACTS = ("url", "siteId")
COLOURS = {"allowed": "success", "denied": "danger", "observed": "warning"}


class DecisionList(BoundedChangeList):
    def why_unsorted(self) -> str:
        why = super().why_unsorted()
        if not why and isinstance(self.queryset, HistoryQuerySet) and self.queryset.has_archived():
            return "Some are in the archive, so they are shown newest first. Choose later dates to sort them."
        return why

    def outcomes(self) -> list[Option]:
        """Return the outcomes, each with a link that keeps the other filters."""
        chosen = self.params.get(OutcomeFilter.parameter_name, "")
        name = OutcomeFilter.parameter_name
        outcomes = [Option("all", self.get_query_string({name: None}), not chosen)]
        for value, label in OutcomeFilter.options.items():
            outcomes.append(Option(label, self.get_query_string({name: value}), value == chosen))
        return outcomes


@admin.register(AccessEvent)
class DecisionAdmin(CustomerSearch[AccessEvent], DecisionPage, RefundButton[AccessEvent], ListExport[AccessEvent]):
    empty_state = EmptyState(
        "A decision is recorded for each check: by POST /v1/access/check, or by a proxy at the edge.",
        "Try a check",
        "check_access",
        CHECK_PERMISSIONS,
    )
    list_display = ("when", "outcome", "page_or_item", "requester", "asked_for", "account")
    list_select_related = ("account", "content", "requester", "policy")
    phone_row_title = "page_or_item"
    phone_row_columns = {"outcome": "", "requester": "", "when": ""}
    list_filter = (
        ("created", RecordedFilter),
        ("content", RelatedFilter),
        ("requester", RelatedFilter),
        ("account", RelatedFilter),
        SiteFilter,
        PageFilter,
        OutcomeFilter,  # last, because it searches only what the others match
    )
    list_before_template = "operators/catalogue/outcomes.html"
    most_customers = 5  # whose decisions an index finds among millions
    search_help_text = "A full dec_ id, or the start of a customer's id or name."
    actions_list = ("export_items",)
    actions_detail = ("decide_again", "refund", "adjust")
    refund_names = "of_decision"
    export_name = "decisions"
    export_columns = (*EXPORTED_COLUMNS, *EXPORTED_FACTS)
    export_related = ("content", "requester")
    sortable_by = ("when", "outcome", "asked_for")
    changelist_class = DecisionList
    fields = readonly_fields = (
        "identifier", "account", "asked_for", "granted", "licence", "rate_limit", "refunds", "facts_in_words",
    )  # fmt: skip
    when = time_column("When", "created", TO_SECOND)
    rights: ClassVar = {"refunds": "analytics.view_ledgerentry"}

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Sort by time if an index of one account, item or customer has this order, and otherwise by id."""
        account_id = request_scope(request).only_assigned_account_id() or listed_account_id(request)
        return ORDER_BY_TIME if account_id or SINGLE_OBJECT_FILTERS & request.GET.keys() else ORDER_BY_ID

    def get_queryset(self, request: HttpRequest) -> QuerySet[AccessEvent]:
        return HistoryQuerySet.covering(super().get_queryset(request))

    def export_rows(self, rows: list[AccessEvent]) -> list[Row]:
        exported = []
        for event in rows:
            row = {name: read(event) for name, read in EXPORTED_COLUMNS.items()}
            row["created"] = render_timestamp(event.created)
            exported.append(row | {name: event.facts.get(name) for name in EXPORTED_FACTS})
        return exported

    def refundable_charge(self, event: AccessEvent) -> RefundableCharge | None:
        price = cast(EventOnPage, event).presented.price
        return RefundableCharge(event.account_id, Charge("decision", event.pk), price[1]) if price else None

    def about(self, event: AccessEvent) -> str:
        return f"{event.content.title}, {event.created.astimezone(event.account.zone):%Y-%m-%d %H:%M %Z}"

    @display(description="Requested permission", ordering="permission", empty_value="none")
    def asked_for(self, event: AccessEvent) -> str | None:
        return event.permission

    has_trying_permission = right(*CHECK_PERMISSIONS)

    @action(description="Decide this again now", icon="replay", permissions=["trying"], url_path="again")
    def decide_again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        event = self.require_object(request, object_id)
        return redirect(f"{reverse('admin:check_access')}?{urlencode({'decision': event.pk})}")

    # --- The list ----------------------------------------------------------------------------------------------------

    @display(description="Outcome", ordering="reason", label=COLOURS)
    def outcome(self, event: AccessEvent) -> tuple[str, str]:
        if event.observed:
            return "observed", f"allowed, observed: {event.observed}"
        if event.allowed:
            return "allowed", "allowed"
        return "denied", event.reason or "denied"

    @display(description="Content or page")
    def page_or_item(self, event: AccessEvent) -> str:
        """Return the item's title, and at the edge the page's address."""
        url = event.facts.get("url")
        if not isinstance(url, str):
            return str(event.content)
        address = url.partition("://")[2]
        return address if event.content.deleted_at else f"{event.content} ({address})"

    # --- One of them -------------------------------------------------------------------------------------------------

    @display(description="What was known")
    def facts_in_words(self, event: AccessEvent) -> str:
        facts = [
            (fact, event.facts[name]) for name, fact in FACTS_BY_NAME.items() if fact.label and name in event.facts
        ]
        labelled = [(fact.label, fact.text(value)) for fact, value in facts]
        return render_to_string("operators/catalogue/decision_facts.html", {"facts": labelled})

    @display(description="Permissions granted")
    def granted(self, event: EventOnPage) -> str:
        return ", ".join(event.presented.shown["permissions"]) or "none"

    @display(description="Licence behind it")
    def licence(self, event: EventOnPage) -> str:
        license_ = event.presented.shown["license"]
        if not license_:
            return "none"
        whose = "held by the service" if license_["source"] == "service" else "vouched for by the caller"
        end = f", until {license_['expiresAt']}" if license_["expiresAt"] else ""
        return f"{license_['licenseType'] or 'of no type'} {license_['id'] or ''} ({whose}{end})"

    @display(description="Refunds", empty_value="nothing was charged")
    def refunds(self, event: AccessEvent) -> str | None:
        charged = self.refundable_charge(event)
        return None if charged is None else charged.refunds()

    @display(description="Rate limit of the rule")
    def rate_limit(self, event: EventOnPage) -> str:
        rate = event.presented.shown["rateLimit"]
        if not rate:
            return "none"
        article = "an" if rate["period"] == "hour" else "a"
        return f"{rate['requests']:,} {article} {rate['period']}; {rate['remaining']:,} were left after it"
