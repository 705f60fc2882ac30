"""The simulator: one check by the saved policy and by the draft, side by side; and a replay of what was decided."""

from datetime import datetime
from typing import Any

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
from licensing.policies.rules import RuleError
from operators.base.frame import page
from operators.base.refusals import REFUSALS, add_refusal, refusal
from operators.policies.linked_items import items_of
from operators.policies.rules_in_words import describe

SUGGESTED_ITEMS = 50
PERIOD_CHOICES = [*((name, f"the last {days} days") for name, days in PERIODS.items()), (ALL, "all time")]
# The fields of the trial by the names of the check that they make.
NAMES = {"contentId": "item", "externalId": "item", "source": "item", "context": "ip"}


def text(label: str, help_text: str = "", *, required: bool = False) -> forms.CharField:
    return forms.CharField(
        label=label, help_text=help_text, required=required, max_length=2048, widget=UnfoldAdminTextInputWidget
    )


class TrialForm(forms.Form):
    item = text("Item", "Its id, your own id for it, or its URL.", required=True)
    requester = text("Requester", required=True)
    license_type = text("Licence type", "What the caller vouches for. A licence that the service holds wins over it.")
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


class PolicySimulator:
    """The part of the policies' admin that tries policies out."""

    @heavy
    @action(description="Simulator", icon="science", permissions=["view"], url_path="simulator")
    def simulator(self: Any, request: HttpRequest, object_id: str) -> HttpResponse:
        policy = self.found(request, object_id)
        fields: dict[str, Any] = {}
        carried: list[tuple[str, str]] = []
        if request.method == "POST":
            try:
                fields, carried = read_draft(request)
            except (ValueError, RuleError, TypeError, AttributeError):
                self.message_user(request, "The draft could not be read; this is the saved policy.", "warning")
        return self.simulate(request, policy, fields, carried)

    def simulate(
        self: Any, request: HttpRequest, policy: Policy, fields: dict[str, Any], carried: list[tuple[str, str]]
    ) -> HttpResponse:
        """The page. `fields` are the draft's `rules` and `default_action`, `carried` what its editor had sent."""
        doing = request.POST.get("do")
        sent = request.POST.dict()
        trial = TrialForm(request.POST if doing == "trial" else None, initial=sent)
        replay = ReplayForm(request.POST if doing == "replay" else None, initial=sent)
        may_replay = request.user.has_perm("analytics.view_accessevent")
        address = reverse("admin:licensing_policy_change", args=[policy.pk])
        context: dict[str, Any] = {
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
            found = simulate(policy, draft_of(policy, fields), start, end)
            context["result"] = present_simulation(policy, found)
            context["at_stake"] = [
                f"{plain(amount)} {currency}" for currency, amount in sorted(found.at_stake.items())
            ]
        title = f"Simulator: {policy.name}"
        return page(request, self, "operators/policies/policy_simulator.html", title=title, original=policy, **context)


def read_draft(request: HttpRequest) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The draft that the page had. Raises ValueError and its like for what no page has sent."""
    sent = orjson.loads(request.POST.get("draft", "{}"))
    fields = {name: sent["fields"][name] for name in ("rules", "default_action") if name in sent.get("fields", {})}
    if fields:
        draft_of(Policy(), fields)
    if fields.get("default_action", "deny") not in ("allow", "deny"):
        raise ValueError("There is no such default action.")
    return fields, [(str(name), str(value)) for name, value in sent.get("carried", [])]


def decide_both(policy: Policy, fields: dict[str, Any], check: Check, at: datetime) -> list[dict[str, Any]]:
    """The decision of the saved policy and, if there is one, of the draft, each with its trace in words."""
    saved = draft_of(policy, {})
    both = [(f"Saved (version {policy.version})", saved, policy.rules)]
    if fields:
        both.append(("Draft", draft_of(policy, fields), fields.get("rules", policy.rules)))
    answers = check_access(policy.account_id, [replace(check, policy=one) for _, one, _ in both], at)
    sides = []
    for (title, _, rules), answer in zip(both, answers, strict=True):
        if isinstance(answer, ApiError):
            raise ValidationFailed(answer.message, param=answer.param)
        shown = present(answer, explain=True)
        steps = [{**step, "told": describe(rules[step["index"]])} for step in shown["trace"]]
        sides.append({"title": title, "decision": shown, "steps": steps})
    return sides
