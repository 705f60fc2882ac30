"""Check access: what a requester would be answered now, and why. Nothing is recorded, counted or charged.

`?decision=dec_…` repeats a recorded decision; `?account=…&item=…&requester=…` and other fields prefill the form. A
result can be kept as a test of its policy (licensing.policies.policy_tests).
"""

from collections.abc import Mapping

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from msgspec.structs import replace

from accounts.models import Account
from analytics.models import AccessEvent
from kit.http.errors import ApiError, ValidationFailed
from kit.rest.resources import find
from licensing.access.archived.queryset import HistoryQuerySet
from licensing.access.check_values import Check
from licensing.access.checks import check_access as decide
from licensing.access.deciding import Answer
from licensing.access.describe_decision import find_deciding_revision
from licensing.content.models import Content
from licensing.policies import services as policy_services
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.policy_tests import build_policy_test, render_outcome
from licensing.requesters.models import Requester
from licensing.requesters.services import customers_named
from operators.base.links import change_url
from operators.base.refusals import REFUSALS, add_refusal, refusal
from operators.base.scope import Scope, chosen_account_id, request_scope
from operators.policies.trial import FIELD_NAMES, TrialForm, build_side, char_field, typed_fields


class CheckAccessForm(TrialForm):
    """A check; `name` is the test's name to keep, `shown` the outcome that the operator saw."""

    name = char_field("What it shows", "For example “Customers read during the embargo”.")
    shown = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, scope: Scope, data: Mapping[str, object] | None, initial: Mapping[str, object]) -> None:
        self.scope = scope
        self.only = scope.only_visible_account_id()
        super().__init__(data, initial, account_id=self.only)
        if self.only is None:
            self.fields["account"] = forms.ModelChoiceField(
                scope.accounts().order_by("name"),
                required=False,
                help_text="The item's account. Not needed with an item id.",
            )
            self.order_fields(["account"])

    @property
    def question_fields(self) -> list[forms.BoundField]:
        """Return the fields of the check."""
        return [self[name] for name in self.fields if name not in ("name", "shown")]

    def check(self) -> Check:
        """Return the check; a URL also matches pages, as at the edge. Raises ValidationFailed."""
        check = super().check()
        name, value = check.selector
        return replace(check, selector=("page", value)) if name == "source" else check

    def account_id(self) -> str:
        """Return the item's account. Raises ValidationFailed if it is unclear."""
        account: Account | None = self.cleaned_data.get("account")
        if self.only is not None:
            return self.only
        if account is not None:
            return account.pk
        item = self.cleaned_data["item"].strip()
        if not item.startswith("cnt_"):
            raise ValidationFailed("Choose the account of the item.", param="account")
        return find(self.scope.narrow(Content.objects.kept()), item).account_id


def check_access(request: HttpRequest, site: AdminSite) -> HttpResponse:
    scope = request_scope(request)
    past = decision_to_repeat(request, scope)
    initial: Mapping[str, str] = {"account": chosen_account_id(request) or "", **request.GET.dict()}
    data: Mapping[str, str] | None = None
    if past is not None:  # the form is sent at once
        initial = data = recorded_fields(past)
    if request.method == "POST":
        data = request.POST
    form = CheckAccessForm(scope, data, initial)
    context: dict[str, object] = {
        **site.each_context(request),
        "title": "Check access",
        "form": form,
        "past": past,
        "past_outcome": render_outcome(past.allowed, past.observed or past.reason) if past is not None else "",
    }
    if form.is_bound and form.is_valid():
        try:
            [answer] = decide(form.account_id(), [form.check()], form.cleaned_data["at"])
            if isinstance(answer, ApiError):
                raise answer
        except REFUSALS as error:
            add_refusal(form, refusal(error, FIELD_NAMES))
        else:
            policy = find_deciding_revision(answer)
            may_keep = policy is not None and request.user.has_perm("licensing.change_policy")
            if "keep" in request.POST and policy is not None and may_keep:
                response = keep_as_test(request, form, answer, policy)
                if response is not None:
                    return response
            context |= decision_context(form.account_id(), answer, policy)
            context["may_keep"] = may_keep
            form.data = {**{name: form.data.get(name, "") for name in form.fields}, "shown": context["outcome"]}
    return TemplateResponse(request, "operators/policies/check_access.html", context)


def decision_to_repeat(request: HttpRequest, scope: Scope) -> AccessEvent | None:
    """Return the decision to repeat. Raises Http404 if the operator may not see it."""
    decision_id = request.GET.get("decision")
    if decision_id is None:
        return None
    if not request.user.has_perm("analytics.view_accessevent"):
        raise PermissionDenied
    try:
        return find(
            scope.narrow(HistoryQuerySet.covering(AccessEvent.objects.select_related("requester"))), decision_id
        )
    except ApiError:
        raise Http404 from None


def recorded_fields(event: AccessEvent) -> dict[str, str]:
    """Return the form's values for a recorded check."""
    facts = event.facts
    return {
        "account": event.account_id,
        "item": str(facts.get("url") or event.content_id),
        "requester": event.requester.requester_id,
        "permission": event.permission or "",
        **typed_fields(facts),
    }


def decision_context(account_id: str, answer: Answer, revision: PolicyRevision | None) -> dict[str, object]:
    """Return the template context of a decision, and of an id that no requester has, or that is customers' name."""
    item = Content.objects.filter(pk=answer.content_id, deleted_at=None).first()
    requester_id = answer.requester_id
    is_known = Requester.objects.filter(account_id=account_id, requester_id=requester_id).exists()
    name = f"{requester_id}: {answer.facts.permission or 'access'}"
    if item is not None:
        name += f" of {item.title}"
    return {
        "side": build_side("Now", answer, revision.rules if revision is not None else []),
        "outcome": shown_outcome(answer),
        "policy": revision,
        "item": item,
        "name": name[:255],
        "unknown": None if is_known else requester_id,
        "named": customers_named(account_id, requester_id),
    }


def shown_outcome(answer: Answer) -> str:
    return render_outcome(answer.decision.allowed, answer.decision.observed or answer.decision.reason)


def keep_as_test(
    request: HttpRequest, form: CheckAccessForm, answer: Answer, revision: PolicyRevision
) -> HttpResponse | None:
    """Add the example to its policy; None if that fails, or the outcome differs from what the operator saw."""
    if form.cleaned_data["shown"] != shown_outcome(answer):
        form.add_error(None, "The decision is different now, as below. Save it if that is right.")
        return None
    policy: Policy = revision.policy
    if answer.policy is None:
        return None
    test = build_policy_test(answer.policy, answer.facts, form.cleaned_data["name"].strip() or "Example")
    try:
        if test in policy.tests:
            messages.info(request, f"{policy.name} already has this test.")
        else:
            policy_services.append_test(policy, test)
            messages.success(request, f"Saved as a test of {policy.name}. It runs before every change is saved.")
    except REFUSALS as error:
        add_refusal(form, refusal(error, {}))
        return None
    return redirect(f"{change_url(policy)}#examples")
