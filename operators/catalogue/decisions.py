"""Decisions as they were recorded: found by id, listed newest first, each with its trace in words."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html
from unfold.contrib.filters.admin import DropdownFilter
from unfold.decorators import display

from analytics.events.bounded_scan import newest
from analytics.events.partitions import first_id
from analytics.models import AccessEvent
from kit.values import ids
from kit.values.amounts import from_millionths, plain
from licensing.access.recorded_decisions import recorded_answers
from licensing.access.rendering import present
from licensing.policies.decision import Reason
from operators.base.filters import MomentFilter, RelatedFilter
from operators.base.links import change_url
from operators.base.model_admin import ScopedAdmin
from operators.base.searching import find_by_id

FACTS = {
    "requesterName": "Requester's name",
    "licenseType": "Licence type, by the caller",
    "hasValidLicense": "Licence valid, by the caller",
    "lapsedLicense": "Had a licence that lapsed",
    "contentType": "Type of the item",
    "tags": "Tags of the item",
    "category": "Category of the item",
    "archived": "Item archived",
    "ip": "Address",
    "userAgent": "User agent",
}


def told_facts(facts: dict[str, Any]) -> list[tuple[str, Any]]:
    """What a decision was made on, with labels; its licences by their types and ids."""
    told = [(label, facts[name]) for name, label in FACTS.items() if name in facts]
    if "licenses" in facts:
        held = [f"{one['licenseType']} ({one['id']})" for one in facts["licenses"]]
        told.append(("Licences held by the service", held))
    return told


class RecordedFilter(MomentFilter):
    """By the ids too, which the table's partitions are made by. Those of a decision lie close to each other."""

    SLACK = timedelta(hours=1)

    def at_least(self, moment: datetime) -> dict[str, Any]:
        return {**super().at_least(moment), "pk__gte": ids.encode("dec", first_id(moment - self.SLACK).bytes)}

    def at_most(self, moment: datetime) -> dict[str, Any]:
        return {**super().at_most(moment), "pk__lt": ids.encode("dec", first_id(moment + self.SLACK).bytes)}


class OutcomeFilter(DropdownFilter):
    """Looks at the newest decisions that match everything else; how many, see `analytics.events.bounded_scan`."""

    title = "outcome"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("allowed", "allowed"), ("denied", "denied"), *((one.value, f"denied: {one.value}") for one in Reason)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AccessEvent]) -> QuerySet[AccessEvent]:
        value = self.value()
        if value in ("allowed", "denied"):
            return newest(queryset).filter(allowed=value == "allowed")
        return newest(queryset).filter(reason=value) if value in set(Reason) else queryset


@admin.register(AccessEvent)
class DecisionAdmin(ScopedAdmin):
    list_display = ("when", "outcome", "content", "requester", "asked_for", "account")
    list_select_related = ("account", "content", "requester", "policy")
    list_filter = (
        ("created", RecordedFilter),
        ("content", RelatedFilter),
        ("requester", RelatedFilter),
        ("account", RelatedFilter),
        OutcomeFilter,  # the last: it is bounded by what the others leave
    )
    search_fields = ("pk",)
    search_help_text = "The id of a decision, whole: dec_…"
    sortable_by = ()
    fields = readonly_fields = (
        "identifier", "when", "decided", "account", "item", "asker", "asked_for", "facts_in_words", "granted", "told",
        "licence", "rate", "charged", "by_policy", "traced",
    )  # fmt: skip

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        return find_by_id(queryset, "dec", search_term), False

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        event = super().get_object(request, object_id, from_field)
        if event is not None:
            [answer] = recorded_answers([event])
            event.shown, event.price = present(answer, explain=True), answer.decision.price
        return event

    @display(description="Permission asked for", empty_value="none")
    def asked_for(self, event: AccessEvent) -> str | None:
        return event.permission

    # --- The list ----------------------------------------------------------------------------------------------------

    @display(description="When (UTC)")
    def when(self, event: AccessEvent) -> str:
        return f"{event.created:%Y-%m-%d %H:%M:%S}"

    @display(description="Outcome", label={"allowed": "success", "denied": "danger"})
    def outcome(self, event: AccessEvent) -> tuple[str, str]:
        return ("allowed", "allowed") if event.allowed else ("denied", event.reason or "denied")

    # --- One of them -------------------------------------------------------------------------------------------------

    @display(description="Decision")
    def decided(self, event: Any) -> str:
        return f"Denied: {Reason(event.reason).words}" if event.reason else "Allowed"

    @display(description="Item")
    def item(self, event: AccessEvent) -> str:
        if event.content.deleted_at:
            return f"{event.content} ({event.content_id}), deleted since"
        return format_html(
            '<a class="text-link" href="{}">{}</a> ({})', change_url(event.content), event.content, event.content_id
        )

    @display(description="Requester")
    def asker(self, event: AccessEvent) -> str:
        requester = event.requester
        return format_html(
            '<a class="text-link" href="{}">{}</a> ({})', change_url(requester), requester, requester.requester_id
        )

    @display(description="What was known")
    def facts_in_words(self, event: AccessEvent) -> str:
        return render_to_string("operators/catalogue/decision_facts.html", {"facts": told_facts(event.facts)})

    @display(description="Permissions granted")
    def granted(self, event: Any) -> str:
        return ", ".join(event.shown["permissions"]) or "none"

    @display(description="Message")
    def told(self, event: Any) -> str:
        return event.shown["message"] or "none"

    @display(description="Licence behind it")
    def licence(self, event: Any) -> str:
        held = event.shown["license"]
        if not held:
            return "none"
        whose = "held by the service" if held["source"] == "service" else "vouched for by the caller"
        end = f", until {held['expiresAt']}" if held["expiresAt"] else ""
        return f"{held['licenseType'] or 'of no type'} {held['id'] or ''} ({whose}{end})"

    @display(description="Rate limit of the rule")
    def rate(self, event: Any) -> str:
        rate = event.shown["rateLimit"]
        if not rate:
            return "none"
        return f"{rate['requests']:,} a {rate['period']}; {rate['remaining']:,} were left after it"

    @display(description="Charge")
    def charged(self, event: Any) -> str:
        return f"{plain(from_millionths(event.price[0]))} {event.price[1]}" if event.price else "none"

    @display(description="Policy")
    def by_policy(self, event: AccessEvent) -> str:
        if event.policy is None:
            return "none"
        named = f"{event.policy.name}, as of version {event.policy_version}"
        if event.policy.deleted_at:
            return f"{named} (deleted since)"
        return format_html('<a class="text-link" href="{}">{}</a>', change_url(event.policy), named)

    @display(description="Rule by rule")
    def traced(self, event: Any) -> str:
        return render_to_string(
            "operators/catalogue/decision_trace.html", {"steps": event.shown["trace"], "event": event}
        )
