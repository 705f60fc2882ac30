"""Recorded decisions: searchable by id, newest first, each with its trace in words."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, NamedTuple, Protocol
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from unfold.decorators import action, display
from unfold.views import ChangeList

from analytics.events.partitions import first_id
from analytics.ledger.refunds import Charge
from analytics.models import AccessEvent
from kit.rest.export import Row
from kit.values import ids
from kit.values.timestamps import render_timestamp
from licensing.access.recorded_decisions import recorded_answers
from licensing.access.rendering import present
from licensing.policies.decision import UNMET_DEMAND, Reason
from licensing.policies.facts import BY_NAME, Recorded
from operators.base.checking import NEEDED, may_try
from operators.base.empty_state import EmptyState
from operators.base.exporting import ListExport
from operators.base.filters import MomentFilter, OptionsFilter, RelatedFilter
from operators.base.model_admin import BoundedChangeList
from operators.base.scope import request_scope
from operators.base.searching import find_by_id, of_requesters
from operators.catalogue.decision_page import DecisionPage
from operators.customers.refunds import RefundableCharge, RefundButton

MAX_SCANNED = 50_000
OUTCOMES = ("allowed", "denied")
OBSERVED = "observed"
COLOURS = {"allowed": "success", "denied": "danger", "observed": "warning"}
UNMET = "unmet_demand"


def labelled_facts(recorded: Recorded) -> list[tuple[str, str]]:
    """Return a decision's facts with their labels."""
    return [(one.label, one.text(recorded[name])) for name, one in BY_NAME.items() if one.label and name in recorded]


class RecordedFilter(MomentFilter):
    """Filters by id, too, because partitions are by id; a decision's time and id are close."""

    SLACK = timedelta(hours=1)

    def at_least(self, moment: datetime) -> dict[str, object]:
        return {**super().at_least(moment), "pk__gte": ids.encode("dec", first_id(moment - self.SLACK).bytes)}

    def at_most(self, moment: datetime) -> dict[str, object]:
        return {**super().at_most(moment), "pk__lt": ids.encode("dec", first_id(moment + self.SLACK).bytes)}


def bounded_scan(events: QuerySet[AccessEvent], limit: int = MAX_SCANNED) -> QuerySet[AccessEvent]:
    """Restrict a query to the newest decisions, for filters without an index. Ids sort by time of recording."""
    oldest = events.order_by("-pk").values_list("pk", flat=True)[limit - 1 : limit].first()
    return events if oldest is None else events.filter(pk__gte=oldest)


class OutcomeFilter(OptionsFilter[AccessEvent]):
    """Searches the newest MAX_SCANNED decisions that match the other filters."""

    title = "outcome"
    parameter_name = "outcome"
    options = {
        **dict(zip(OUTCOMES, OUTCOMES, strict=True)),
        OBSERVED: "allowed (observed)",
        UNMET: "denied, might have paid",
        **{one.value: f"denied: {one.value}" for one in Reason},
    }

    def apply_option(self, queryset: QuerySet[AccessEvent], value: str) -> QuerySet[AccessEvent]:
        newest = bounded_scan(queryset)
        if value == OBSERVED:
            return newest.filter(observed__isnull=False)
        if value == UNMET:
            return newest.filter(reason__in=UNMET_DEMAND)
        return newest.filter(allowed=value == "allowed") if value in OUTCOMES else newest.filter(reason=value)


class ShownOutcome(NamedTuple):
    label: str
    address: str  # URL of the list with this outcome and the other filters
    is_chosen: bool


class DecisionList(BoundedChangeList):
    def outcomes(self) -> list[ShownOutcome]:
        """Return the outcomes with links."""
        chosen = self.params.get(OutcomeFilter.parameter_name, "")
        return [
            ShownOutcome(
                label or "all",
                self.get_query_string({OutcomeFilter.parameter_name: value or None}, ["p"]),
                value == chosen,
            )
            for value, label in {"": "", **OutcomeFilter.options}.items()
        ]


class PresentedDecision(Protocol):
    """A decision with the attributes that its page uses."""

    shown: Mapping[str, Any]  # the API's decision object
    price: tuple[int, str] | None  # millionths and currency


@admin.register(AccessEvent)
class DecisionAdmin(DecisionPage, RefundButton[AccessEvent], ListExport[AccessEvent]):
    empty_state = EmptyState(
        "A decision is recorded for each check: by POST /v1/access/check, or by a proxy at the edge.",
        "Try a check",
        "check_access",
        NEEDED,
    )
    list_display = ("when", "outcome", "content", "requester", "asked_for", "account")
    list_select_related = ("account", "content", "requester", "policy")
    row_name = "content"
    row_facts = {"outcome": "", "requester": "", "when": ""}
    list_filter = (
        ("created", RecordedFilter),
        ("content", RelatedFilter),
        ("requester", RelatedFilter),
        ("account", RelatedFilter),
        OutcomeFilter,  # last, because it searches only what the others match
    )
    list_before_template = "operators/catalogue/outcomes.html"
    search_fields = ("pk",)
    search_help_text = "A full dec_ id, or the start of a customer's id or name."
    actions_list = ("export_items",)
    actions_detail = ("again", "refund", "adjust")
    refund_names = "of_decision"
    export_name = "decisions"
    export_columns = (
        "id", "created", "allowed", "reason", "contentId", "title", "requesterId", "requesterName", "permission",
        "policyId", "policyVersion",
    )  # fmt: skip
    sortable_by = ("when", "outcome", "asked_for")
    fields = readonly_fields = (
        "identifier", "account", "asked_for", "granted", "licence", "rate", "refunds", "facts_in_words",
    )  # fmt: skip
    rights: ClassVar = {"refunds": "analytics.view_ledgerentry"}

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AccessEvent], search_term: str
    ) -> tuple[QuerySet[AccessEvent], bool]:
        term = search_term.strip()
        if not term or term.startswith("dec_"):
            return find_by_id(queryset, "dec", term), False
        return of_requesters(queryset, request_scope(request), term), False

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        return DecisionList

    def export_queryset(self, queryset: QuerySet[AccessEvent]) -> QuerySet[AccessEvent]:
        return queryset.select_related(None).select_related("content", "requester")

    def export_rows(self, rows: list[AccessEvent]) -> list[Row]:
        return [
            {
                "id": event.pk,
                "created": render_timestamp(event.created),
                "allowed": event.allowed,
                "reason": event.reason,
                "contentId": event.content_id,
                "title": event.content.title,
                "requesterId": event.requester.requester_id,
                "requesterName": event.requester.name,
                "permission": event.permission,
                "policyId": event.policy_id,
                "policyVersion": event.policy_version,
            }
            for event in rows
        ]

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> AccessEvent | None:
        event = super().get_object(request, object_id, from_field)
        if event is not None:
            [answer] = recorded_answers([event])
            vars(event).update(answer=answer, shown=present(answer), price=answer.decision.price)
        return event

    def refundable_charge(self, event: Any) -> RefundableCharge | None:
        return (
            RefundableCharge(event.account_id, Charge("decision", event.pk), event.price[1]) if event.price else None
        )

    def about(self, event: AccessEvent) -> str:
        return f"{event.content.title}, {event.created:%Y-%m-%d %H:%M}"

    @display(description="Requested permission", ordering="permission", empty_value="none")
    def asked_for(self, event: AccessEvent) -> str | None:
        return event.permission

    def has_trying_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return may_try(request)

    @action(description="Decide this again now", icon="replay", permissions=["trying"], url_path="again")
    def again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        event = self.found(request, object_id)
        return redirect(f"{reverse('admin:check_access')}?{urlencode({'decision': event.pk})}")

    # --- The list ----------------------------------------------------------------------------------------------------

    @display(description="When (UTC)", ordering="created")
    def when(self, event: AccessEvent) -> str:
        return f"{event.created:%Y-%m-%d %H:%M:%S}"

    @display(description="Outcome", ordering="reason", label=COLOURS)
    def outcome(self, event: AccessEvent) -> tuple[str, str]:
        if event.observed:
            return "observed", f"allowed, observed: {event.observed}"
        return ("allowed", "allowed") if event.allowed else ("denied", event.reason or "denied")

    # --- One of them -------------------------------------------------------------------------------------------------

    @display(description="What was known")
    def facts_in_words(self, event: AccessEvent) -> str:
        return render_to_string("operators/catalogue/decision_facts.html", {"facts": labelled_facts(event.facts)})

    @display(description="Permissions granted")
    def granted(self, event: PresentedDecision) -> str:
        return ", ".join(event.shown["permissions"]) or "none"

    @display(description="Licence behind it")
    def licence(self, event: PresentedDecision) -> str:
        held = event.shown["license"]
        if not held:
            return "none"
        whose = "held by the service" if held["source"] == "service" else "vouched for by the caller"
        end = f", until {held['expiresAt']}" if held["expiresAt"] else ""
        return f"{held['licenseType'] or 'of no type'} {held['id'] or ''} ({whose}{end})"

    @display(description="Refunds", empty_value="nothing was charged")
    def refunds(self, event: AccessEvent) -> str | None:
        charged = self.refundable_charge(event)
        return None if charged is None else charged.refunds()

    @display(description="Rate limit of the rule")
    def rate(self, event: PresentedDecision) -> str:
        rate = event.shown["rateLimit"]
        if not rate:
            return "none"
        article = "an" if rate["period"] == "hour" else "a"
        return f"{rate['requests']:,} {article} {rate['period']}; {rate['remaining']:,} were left after it"
