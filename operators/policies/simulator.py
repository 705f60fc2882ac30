"""The simulator: one check by the saved policy and by the draft, side by side; and a replay of past decisions."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypedDict

import orjson
from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from msgspec.structs import replace
from unfold.decorators import action
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from analytics.windows import ALL, PERIODS
from kit.http.errors import ApiError, ValidationFailed
from kit.rest.heavy import heavy
from kit.values.amounts import plain
from kit.values.timestamps import parse_timestamp
from licensing.access.bodies import Check, parse_check
from licensing.access.checks import check_access
from licensing.access.rendering import present
from licensing.drafts.rendering import present_simulation
from licensing.drafts.simulate import draft_of, simulate, window_of
from licensing.policies.models import Policy
from operators.base.frame import page
from operators.base.model_admin import ServiceAdmin
from operators.base.refusals import REFUSALS, add_refusal, refusal
from operators.policies.form import PolicyFields
from operators.policies.linked_items import items_of
from operators.policies.rule_order import Rule
from operators.policies.rules_in_words import describe

SUGGESTED_ITEMS = 50
PERIOD_CHOICES = [*((name, f"the last {days} days") for name, days in PERIODS.items()), (ALL, "all time")]
# The fields of the trial by the API's names.
NAMES = {"contentId": "item", "externalId": "item", "source": "item", "context": "ip"}


def text(label: str, help_text: str = "", *, required: bool = False) -> forms.CharField:
    return forms.CharField(
        label=label, help_text=help_text, required=required, max_length=2048, widget=UnfoldAdminTextInputWidget
    )


class TrialForm(forms.Form):
    item = text("Item", "Its id, your own id for it, or its URL.", required=True)
    requester = text("Requester", required=True)
    license_type = text(
        "Licence type", "As the caller vouches for it. A licence held by the service takes precedence."
    )
    valid = forms.ChoiceField(
        label="Valid licence",
        required=False,
        choices=(("", "not known"), ("yes", "yes")),
        widget=UnfoldAdminSelectWidget,
    )
    permission = text("Permission asked for")
    ip = text("Address")
    at = text("Time", "As 2026-01-31T12:00:00Z; empty: now.")

    def clean_at(self) -> datetime:
        given = self.cleaned_data["at"]
        try:
            return parse_timestamp(given) if given else timezone.now()
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def check(self) -> Check:
        """The dry run that the form describes. Raises ValidationFailed."""
        given = self.cleaned_data
        item = given["item"].strip()
        selector = "contentId" if item.startswith("cnt_") else "source" if "://" in item else "externalId"
        requester = {"id": given["requester"], "hasValidLicense": given["valid"] == "yes"}
        if given["license_type"]:
            requester["licenseType"] = given["license_type"]
        return parse_check(
            {
                selector: item,
                "requester": requester,
                "permission": given["permission"] or None,
                "context": {"ip": given["ip"] or None},
                "dryRun": True,
                "explain": True,
            }
        )


class ReplayForm(forms.Form):
    period = forms.ChoiceField(
        label="Decisions of", choices=PERIOD_CHOICES, initial="30d", widget=UnfoldAdminSelectWidget
    )


class DraftFields(TypedDict, total=False):
    """The fields of a draft that differ from the saved policy; none for the policy itself."""

    rules: list[Rule]
    default_action: str


class Side(TypedDict):
    title: str
    decision: Mapping[str, object]  # the decision object of the API
    steps: list[dict[str, object]]  # of its trace, each with its rule in words as `told`


class PolicySimulator(ServiceAdmin[Policy, PolicyFields]):
    """The page that tries policies out."""

    @heavy
    @action(description="Simulator", icon="science", permissions=["view"], url_path="simulator")
    def simulator(self, request: HttpRequest, object_id: str) -> HttpResponse:
        policy = self.found(request, object_id)
        fields: DraftFields = {}
        carried: list[tuple[str, str]] = []
        if request.method == "POST":
            try:
                fields, carried = read_draft(request)
            except (ValueError, TypeError, AttributeError):
                self.message_user(request, "The draft could not be read; this is the saved policy.", "warning")
        return self.simulate(request, policy, fields, carried)

    def simulate(
        self, request: HttpRequest, policy: Policy, fields: DraftFields, carried: list[tuple[str, str]]
    ) -> HttpResponse:
        """The page. `carried` are the fields of the editor, which the page submits again."""
        doing = request.POST.get("do")
        sent = request.POST.dict()
        trial = TrialForm(request.POST if doing == "trial" else None, initial=sent)
        replay = ReplayForm(request.POST if doing == "replay" else None, initial=sent)
        may_replay = request.user.has_perm("analytics.view_accessevent")
        address = reverse("admin:licensing_policy_change", args=[policy.pk])
        context: dict[str, object] = {
            "trial": trial,
            "replay": replay,
            "may_replay": may_replay,
            "items": items_of(policy).order_by("-created", "-id").only("id", "title")[:SUGGESTED_ITEMS]
            if request.user.has_perm("licensing.view_content")
            else [],
            "is_draft": bool(fields),
            "draft": orjson.dumps({"fields": fields, "carried": carried}).decode(),
            "carried": carried,
            "here": reverse("admin:licensing_policy_simulator", args=[policy.pk]),
            "back": address,
        }
        if doing == "trial" and trial.is_valid():
            try:
                context["sides"] = decide_both(policy, fields, trial.check(), trial.cleaned_data["at"])
            except REFUSALS as error:
                add_refusal(trial, refusal(error, NAMES))
        if doing == "replay" and may_replay and replay.is_valid():
            start, end = window_of(timezone.now(), replay.cleaned_data["period"], None, None)
            found = simulate(policy, draft_of(policy, {**fields}), start, end)
            context["result"] = present_simulation(policy, found)
            context["at_stake"] = [
                f"{plain(amount)} {currency}" for currency, amount in sorted(found.at_stake.items())
            ]
        title = f"Simulator: {policy.name}"
        return page(request, self, "operators/policies/policy_simulator.html", title=title, original=policy, **context)


def read_draft(request: HttpRequest) -> tuple[DraftFields, list[tuple[str, str]]]:
    """The submitted page's draft. Raises ValueError, TypeError or AttributeError for an invalid one."""
    sent = orjson.loads(request.POST.get("draft", "{}"))
    given = sent.get("fields", {})
    fields: DraftFields = {}
    if "rules" in given:
        fields["rules"] = given["rules"]
    if "default_action" in given:
        fields["default_action"] = given["default_action"]
    if fields:
        draft_of(Policy(), {**fields})
    if fields.get("default_action", "deny") not in ("allow", "deny"):
        raise ValueError("There is no such default action.")
    return fields, [(str(name), str(value)) for name, value in sent.get("carried", [])]


def decide_both(policy: Policy, fields: DraftFields, check: Check, at: datetime) -> list[Side]:
    """The decision of the saved policy and, if there is one, of the draft, each with its trace in words."""
    saved = draft_of(policy, {})
    both = [(f"Saved (version {policy.version})", saved, policy.rules)]
    if fields:
        both.append(("Draft", draft_of(policy, {**fields}), fields.get("rules", policy.rules)))
    answers = check_access(policy.account_id, [replace(check, policy=one) for _, one, _ in both], at)
    sides: list[Side] = []
    for (title, _, rules), answer in zip(both, answers, strict=True):
        if isinstance(answer, ApiError):
            raise ValidationFailed(answer.message, param=answer.param)
        shown = present(answer, explain=True)
        steps = [{**step, "told": describe(rules[step["index"]])} for step in shown["trace"]]
        sides.append({"title": title, "decision": shown, "steps": steps})
    return sides
