"""Policies: rules are edited in rows, checked by lint, and saved after a confirmation."""

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Protocol, cast

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms import BaseForm, ModelForm
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html_join
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from kit.rest.heavy_mark import heavy
from licensing.content.models import Content
from licensing.drafts.lint import lint_policy
from licensing.policies import services as policy_services
from licensing.policies.lint import Finding
from licensing.policies.models import Policy
from operators.base.fields import Values, changed_values
from operators.base.filters import RelatedFilter
from operators.base.forms.confirmation import Confirmation, confirmed_action
from operators.base.forms.confirmed_form import CONFIRMED, carried_fields, pressed_button
from operators.base.links import list_url
from operators.base.mixins import EDIT
from operators.base.pages import EmptyState, page
from operators.base.times import shown_time
from operators.policies.descriptions import (
    describe_row,
    describe_test,
    describe_with_place,
    lint_rows,
    place_in_words,
    with_rule_names,
)
from operators.policies.differences import Line, differences
from operators.policies.form import PolicyForm
from operators.policies.linked_items import (
    effects_on_users,
    items_linked,
    items_sentence,
    linked_items,
    linked_sites,
    with_users,
)
from operators.policies.rule_rows import in_evaluation_order, submitted_rows
from operators.policies.simulator import DraftFields, PolicySimulator
from operators.policies.versions import PolicyVersions

SHOWN_ITEMS = 10


class WithUsers(Protocol):
    items: int
    sites: int
    first_host: str | None


def requested_step(form: ModelForm) -> str:
    """Return what to do with a valid form instead of saving it; empty for an invalid one."""
    is_valid = form.is_bound and not form.errors and hasattr(form, "cleaned_data")
    return str(getattr(form, "step", "")).partition("-")[0] if is_valid else ""


@admin.register(Policy)
class PolicyAdmin(PolicyVersions, PolicySimulator):
    empty_state = EmptyState("A policy’s rules say who may access what. Start from a template.")
    list_display = (
        "name", "account", "mode", "otherwise", "number_of_rules", "number_of_items", "sites_with_it", "version",
        "changed",
    )  # fmt: skip
    list_select_related = ("account",)
    phone_row_columns = {"mode": "", "number_of_items": "items:", "sites_with_it": "sites:"}
    fieldset_headings = {"mode": "How it decides"}
    list_filter = (
        ("mode", ChoicesDropdownFilter),
        ("default_action", ChoicesDropdownFilter),
        ("account", RelatedFilter),
    )
    search_fields = ("name",)
    form = PolicyForm
    optional = frozenset({"mode"})
    add_fieldsets = (
        (None, {"fields": ("account", "name", "description", "mode", "default_action", "rules", "tests")}),
    )
    fields = ("name", "account", "version", "changed", "description", "mode", "default_action", "rules", "tests")
    words_instead = {"rules": "rules_in_words", "tests": "tests_in_words"}
    autocomplete_fields = ("account",)
    actions_detail = ("versions", "simulator", "delete_policy")
    change_form_template = "operators/policies/policy_form.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Policy]:
        return with_users(super().get_queryset(request).filter(deleted_at=None))

    def get_urls(self) -> list[URLPattern]:
        rollback = self.admin_site.admin_view(self.rollback)
        return [
            path("words/", self.admin_site.admin_view(self.words), name="licensing_policy_words"),
            path("draft/", self.admin_site.admin_view(self.simulator_of_new), name="licensing_policy_draft"),
            path("<path:object_id>/rollback/<int:version>/", rollback, name="licensing_policy_rollback"),
            *super().get_urls(),
        ]

    # --- Writing -----------------------------------------------------------------------------------------------------

    def create(self, request: HttpRequest, fields: Values) -> Policy:
        return policy_services.create_policy(fields.pop("account").pk, fields)

    def update(self, request: HttpRequest, obj: Policy, fields: Values) -> Policy:
        return policy_services.update_policy(obj, fields)

    def is_confirmed(self, request: HttpRequest, form: BaseForm, obj: Policy | None) -> bool:
        """Ask about changes of decisions, and about warnings of lint."""
        policy_form = cast(PolicyForm, form)
        if CONFIRMED not in form.data and self.to_confirm(policy_form):
            policy_form.step = "confirm"
        return not policy_form.step

    def to_confirm(self, form: PolicyForm) -> bool:
        """Whether the change affects decisions, or lint has warnings."""
        decides = {"rules", "default_action", "mode"} & set(form.changed_data)
        if not decides:
            return False
        policy = form.instance
        if not policy._state.adding and (linked_items(policy).exists() or policy.site_rules.exists()):
            return True
        return any(finding.level == "warning" for finding in self.findings(form) or ())

    def findings(self, form: ModelForm) -> list[Finding] | None:
        """Return lint findings for the form's rules; None while they are invalid."""
        cleaned = getattr(form, "cleaned_data", {})
        account = cleaned.get("account") or getattr(form.instance, "account", None)
        if "rules" not in cleaned or "default_action" not in cleaned or account is None:
            return None
        raw = lint_policy(account.pk, cleaned["rules"], cleaned["default_action"], timezone.now())
        return [
            replace(finding, path=place_in_words(finding.path), message=with_rule_names(finding.message))
            for finding in raw
        ]

    @heavy
    def words(self, request: HttpRequest) -> HttpResponse:
        """Return the form's rules in words, in order, each with its lint findings."""
        if request.method != "POST" or not self.has_view_permission(request):
            raise PermissionDenied
        rows = submitted_rows(request.POST)
        messages = lint_rows(rows, request.POST.get("default_action", "deny"), timezone.now())
        return JsonResponse(
            {
                "rules": [
                    {"sentence": description.sentence, "place": description.place, "findings": findings}
                    for description, findings in zip(map(describe_row, rows), messages, strict=True)
                ]
            }
        )

    # --- Pages -------------------------------------------------------------------------------------------------------

    def page_instead(self, request: HttpRequest, form: ModelForm, obj: Policy | None) -> HttpResponse | None:
        if requested_step(form) == "confirm":
            return self.ask(request, form)
        if requested_step(form) == "simulate":
            fields: DraftFields = {
                "rules": form.cleaned_data["rules"],
                "default_action": form.cleaned_data["default_action"],
            }
            if obj is None:
                policy = Policy(account=form.cleaned_data["account"], name=form.cleaned_data["name"])
            else:
                policy = Policy.objects.get(pk=obj.pk)
            return self.simulate(request, policy, fields, carried_fields(request))
        return super().page_instead(request, form, obj)

    def form_context(self, request: HttpRequest, form: ModelForm, obj: Policy | None) -> dict[str, object]:
        context = super().form_context(request, form, obj)
        if requested_step(form) == "check":
            context["findings"] = self.findings(form) or []
        if obj is not None and isinstance(form, PolicyForm):  # otherwise the operator may only view
            context["items_sentence"] = items_sentence(linked_items(obj).count())
            if request.user.has_perm("licensing.view_content"):
                context["items"] = list(linked_items(obj).order_by("-created", "-id")[:SHOWN_ITEMS])
                context["items_url"] = list_url(Content, policy__id__exact=obj.pk)
            context["sites"] = linked_sites(obj)
        return context

    def ask(self, request: HttpRequest, form: ModelForm) -> HttpResponse:
        """Show the confirmation page: changes in words, number of items, lint findings."""
        original: Policy | None = None
        effects: list[str] = []
        lines: list[Line] = []
        title = "Save the new policy?"
        if not form.instance._state.adding:
            original = Policy.objects.get(pk=form.instance.pk)
            title = f"Save version {original.version + 1} of {original.name}?"
            effects = [
                *effects_on_users(original, "the next checks use the new version."),
                f"Version {original.version} is kept. You can roll back to it.",
            ]
            later = copy(original)
            for name, value in changed_values(form).items():
                setattr(later, name, value)
            lines = differences(original, later)
        context: dict[str, object] = {
            "effects": effects,
            "lines": lines,
            "findings": self.findings(form),
            "carried": carried_fields(request),
            "button": pressed_button(request),
            "edit": EDIT,
            "confirmed": CONFIRMED,
            "media": self.media + form.media,
        }
        return page(request, self, "operators/policies/policy_confirm.html", title=title, original=original, **context)

    @confirmed_action("Delete", "delete", "remove", permission="deleting", danger=True)
    def delete_policy(self, request: HttpRequest, policy: Policy) -> Confirmation:
        number = linked_items(policy).count()
        sites = linked_sites(policy)
        is_used = bool(number or sites)

        effect = "Its decisions remain, with the versions that made them."
        if is_used:
            effect = "A policy that items or sites use cannot be deleted. Assign another policy to them first."
        return Confirmation(
            title=f"Delete the policy {policy.name}?",
            facts=[
                ("Account", str(policy.account)),
                ("Items", items_linked(policy, number)),
                ("Sites", ", ".join(map(str, sites)) or "No site has rules with it"),
            ],
            effects=[effect],
            button="" if is_used else "Delete it",
            perform=partial(policy_services.delete_policy, policy),
            done=f"The policy {policy.name} is deleted.",
            next_page="admin:licensing_policy_changelist",
        )

    # --- Showing -----------------------------------------------------------------------------------------------------

    @display(description="Otherwise", ordering="default_action", label={"allow": "warning", "deny": "default"})
    def otherwise(self, policy: Policy) -> str:
        return policy.default_action

    @display(description="Rules")
    def number_of_rules(self, policy: Policy) -> int:
        return len(policy.rules)

    @display(description="Items", ordering="items")
    def number_of_items(self, policy: WithUsers) -> str:
        return f"{policy.items:,}"

    @display(description="Sites", ordering="sites")
    def sites_with_it(self, policy: WithUsers) -> str:
        if policy.sites > 1:
            return f"{policy.first_host} and {policy.sites - 1:,} more"
        return policy.first_host or "none"

    @display(description="Changed")
    def changed(self, policy: Policy) -> str:
        return shown_time(policy.updated or policy.created)

    @display(description="Rules")
    def rules_in_words(self, policy: Policy) -> str:
        return format_html_join(
            "",
            "<p>{}. {}</p>",
            ((index, describe_with_place(rule)) for index, rule in in_evaluation_order(policy.rules)),
        )

    @display(description="Examples")
    def tests_in_words(self, policy: Policy) -> str:
        return format_html_join("", "<p>{}</p>", ((describe_test(test),) for test in policy.tests)) or "none"
