"""The simulator: one check with the saved policy and the draft side by side, and a backtest on past decisions."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypedDict

import orjson
from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from msgspec.structs import replace
from unfold.decorators import action

from analytics.windows import ALL, PERIODS
from kit.http.errors import ApiError, NotFound, ValidationFailed
from kit.rest.heavy_mark import heavy
from kit.rest.resources import find
from kit.storage.replica import Reading
from kit.values.currencies import in_full
from licensing.access.check_values import Check
from licensing.access.checks import check_access
from licensing.content.models import Content
from licensing.drafts.rendering import present_simulation
from licensing.drafts.simulate import Simulation, compile_draft, resolve_window, simulate
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.describe_rule import RuleJson
from licensing.policies.models import Policy
from operators.base.links import change_url
from operators.base.mixins import StyledForm
from operators.base.model_admin import ServiceAdmin
from operators.base.pages import page
from operators.base.refusals import REFUSALS, add_refusal, refusal
from operators.base.scope import request_scope
from operators.policies.linked_items import linked_items
from operators.policies.trial import FIELD_NAMES, DecisionSide, TrialForm, build_side

SUGGESTED_ITEMS = 50
PERIOD_CHOICES = [*((name, f"the last {days} days") for name, days in PERIODS.items()), (ALL, "all time")]


class ReplayForm(StyledForm, forms.Form):
    period = forms.ChoiceField(label="Decisions of", choices=PERIOD_CHOICES, initial="30d")


class ReplayOfNewForm(ReplayForm):
    """A backtest of an unsaved policy. It has no items yet, so it is tried on those of a saved one."""

    def __init__(self, account_id: str, data: QueryDict | None, initial: Mapping[str, object]) -> None:
        super().__init__(data, initial={**initial})
        self.fields["replaced"] = forms.ModelChoiceField(
            Policy.objects.of(account_id).order_by("name", "pk"),
            label="In the place of",
        )


class DraftFields(TypedDict, total=False):
    """The draft's fields that differ from the saved policy; empty for the policy itself."""

    rules: list[RuleJson]
    default_action: str


class PolicySimulator(ServiceAdmin[Policy]):
    """The page that tries out policies."""

    @heavy
    @action(description="Simulator", icon="science", permissions=["view"], url_path="simulator")
    def simulator(self, request: HttpRequest, object_id: str) -> HttpResponse:
        policy = self.require_object(request, object_id)
        fields: DraftFields = {}
        carried: list[tuple[str, str]] = []
        if request.method == "POST":
            try:
                fields, carried = read_draft(request)
            except (ValueError, TypeError, AttributeError):
                self.message_user(request, "The draft could not be read; this is the saved policy.", "warning")
        return self.simulate(request, policy, fields, carried)

    @heavy
    def simulator_of_new(self, request: HttpRequest) -> HttpResponse:
        """The simulator of a policy that was never saved."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        try:
            fields, carried = read_draft(request)
        except (ValueError, TypeError, AttributeError):
            return redirect("admin:licensing_policy_add")
        names = dict(carried)
        try:
            account = find(request_scope(request).accounts(), names.get("account", ""))
        except NotFound:
            return redirect("admin:licensing_policy_add")
        return self.simulate(request, Policy(account=account, name=names.get("name", "")), fields, carried)

    def simulate(
        self, request: HttpRequest, policy: Policy, fields: DraftFields, carried: list[tuple[str, str]]
    ) -> HttpResponse:
        """Show the page. `carried` are the editor's fields, which the page submits again."""
        is_new = policy._state.adding
        doing = request.POST.get("do")
        sent = request.POST.dict()
        trial = TrialForm(request.POST if doing == "trial" else None, sent, account_id=policy.account_id)
        data = request.POST if doing == "replay" else None
        may_replay = request.user.has_perm("analytics.view_accessevent")
        if is_new:
            replay: ReplayForm = ReplayOfNewForm(policy.account_id, data, sent)
            here = reverse("admin:licensing_policy_draft")
            back = reverse("admin:licensing_policy_add")
        else:
            replay = ReplayForm(data, initial=sent)
            here = reverse("admin:licensing_policy_simulator", args=[policy.pk])
            back = change_url(policy)
        items: list[Content] = []
        if not is_new and request.user.has_perm("licensing.view_content"):
            newest = linked_items(policy).order_by("-created", "-id").only("id", "title")
            items = list(newest[:SUGGESTED_ITEMS])
        context: dict[str, object] = {
            "trial": trial,
            "replay": replay,
            "may_replay": may_replay,
            "is_new": is_new,
            "items": items,
            "is_draft": bool(fields),
            "draft": orjson.dumps({"fields": fields, "carried": carried}).decode(),
            "carried": carried,
            "here": here,
            "back": back,
        }
        if doing == "trial" and trial.is_valid():
            try:
                context["sides"] = decide_both(policy, fields, trial.check(), trial.cleaned_data["at"])
            except REFUSALS as error:
                add_refusal(trial, refusal(error, FIELD_NAMES))
        if doing == "replay" and may_replay and replay.is_valid():
            start, end = resolve_window(timezone.now(), replay.cleaned_data["period"], None, None)
            decided_by: Policy = replay.cleaned_data.get("replaced") or policy
            draft = compile_draft(policy, {**fields})
            reading = Reading()

            def backtest() -> tuple[Simulation, dict[str, object]]:
                simulation = simulate(decided_by, draft, start, end)
                return simulation, present_simulation(decided_by, simulation)

            simulation, context["result"] = reading.read(backtest)
            context["as_of"] = reading.as_of
            context["at_stake"] = [
                in_full(amount, currency) for currency, amount in sorted(simulation.at_stake.items())
            ]
        title = f"Simulator: {policy.name or 'a new policy'}"
        original = None if is_new else policy
        return page(
            request, self, "operators/policies/policy_simulator.html", title=title, original=original, **context
        )


def read_draft(request: HttpRequest) -> tuple[DraftFields, list[tuple[str, str]]]:
    """Return the submitted draft. Raises ValueError, TypeError or AttributeError if it is invalid."""
    sent = orjson.loads(request.POST.get("draft", "{}"))
    sent_fields = sent.get("fields", {})
    fields: DraftFields = {}
    if "rules" in sent_fields:
        fields["rules"] = sent_fields["rules"]
    if "default_action" in sent_fields:
        fields["default_action"] = sent_fields["default_action"]
    if fields:
        compile_draft(Policy(), {**fields})
    if fields.get("default_action", "deny") not in ("allow", "deny"):
        raise ValueError("Unknown default action.")
    return fields, [(str(name), str(value)) for name, value in sent.get("carried", [])]


def decide_both(policy: Policy, fields: DraftFields, check: Check, at: datetime) -> list[DecisionSide]:
    """Decide a check with the saved policy and with the draft, if they exist, each with its trace in words."""
    both: list[tuple[str, CompiledPolicy, list[RuleJson]]] = []
    if not policy._state.adding:
        both.append((f"Saved (version {policy.version})", compile_draft(policy, {}), policy.rules))
    if fields:
        both.append(("Draft", compile_draft(policy, {**fields}), fields.get("rules", policy.rules)))
    answers = check_access(
        policy.account_id, [replace(check, policy=policy_version) for _, policy_version, _ in both], at
    )
    sides: list[DecisionSide] = []
    for (title, _, rules), answer in zip(both, answers, strict=True):
        if isinstance(answer, ApiError):
            raise ValidationFailed(answer.message, param=answer.param)
        sides.append(build_side(title, answer, rules))
    return sides
