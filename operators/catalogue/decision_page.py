"""A decision's page: verdict, reason, requester, item, time, rule and charge."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from django.forms import Media, ModelForm
from django.http import HttpRequest
from django.urls import reverse
from msgspec import Struct

from analytics.models import AccessEvent, LedgerEntry
from licensing.access.deciding import Answer
from licensing.access.recorded_decisions import recorded_answers
from licensing.access.rendering import present
from licensing.policies.decision import Reason, effective_mode
from licensing.policies.describe_rule import RuleJson, describe_rule
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.modes import Mode
from operators.base.links import change_url, list_url, may_open
from operators.base.model_admin import ScopedAdmin
from operators.policies.descriptions import rule_name
from operators.policies.trial import build_side


class PresentedDecision(Struct, frozen=True):
    """The details on the page of a decision that its record does not have."""

    answer: Answer
    shown: Mapping[str, Any]  # the API's decision object
    price: tuple[int, str] | None  # millionths and currency


class EventOnPage(Protocol):
    """An AccessEvent of `DecisionPage.get_object`. It keeps the decision, because Django passes only it to columns."""

    presented: PresentedDecision


class DecisionPage(ScopedAdmin[AccessEvent]):
    """A ModelAdmin whose `get_object` adds the decision as `presented`."""

    change_form_outer_before_template = "operators/catalogue/decision.html"

    @property
    def media(self) -> Media:
        return super().media + Media(css={"all": ["operators/policy.css"]})

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> AccessEvent | None:
        event = super().get_object(request, object_id, from_field)
        if event is not None:
            [answer] = recorded_answers([event], explained=True)
            cast(EventOnPage, event).presented = PresentedDecision(answer, present(answer), answer.decision.price)
        return event

    def form_context(self, request: HttpRequest, form: ModelForm, obj: AccessEvent | None) -> dict[str, object]:
        context = super().form_context(request, form, obj)
        if obj is not None:
            may_see_entries = request.user.has_perm("analytics.view_ledgerentry")
            context["verdict"] = build_verdict(obj, cast(EventOnPage, obj).presented.answer, may_see_entries)
        return context


def build_verdict(event: AccessEvent, answer: Answer, may_see_entries: bool) -> dict[str, object]:
    rules: Sequence[RuleJson] = []
    if event.policy_version is not None:
        revisions = PolicyRevision.objects.filter(policy_id=event.policy_id, version=event.policy_version)
        rules = revisions.values_list("rules", flat=True).first() or []
    side = build_side("Rule by rule", answer, rules)
    rule = answer.decision.rule
    kind = "allowed" if event.allowed else "denied"
    title = kind.capitalize()
    if event.observed:
        kind = "observed"
        title = "Allowed (observed)"
    name = ""
    sentence = ""
    if rule is not None:
        name = rule_name(rule.index)
        sentence = describe_rule(rules[rule.index])
    return {
        "kind": kind,
        "title": title,
        "why": reason_sentence(event, answer),
        "policy_link": link_to_policy(event),
        "rule": name,
        "sentence": sentence,
        "side": side,
        "entry": list_url(LedgerEntry, q=event.pk) if side["charge"] and event.allowed and may_see_entries else "",
    }


def link_to_policy(event: AccessEvent) -> str:
    """Return a link to the policy's current rules if they are unchanged, otherwise to that version.

    It is empty without a policy, or if it was deleted.
    """
    policy = event.policy
    if policy is None or policy.deleted_at or not may_open(Policy):
        return ""
    if policy.version == event.policy_version:
        return f"{change_url(policy)}#rules"
    return f"{reverse('admin:licensing_policy_versions', args=[policy.pk])}?before={(event.policy_version or 0) + 1}"


def reason_sentence(event: AccessEvent, answer: Answer) -> str:
    """Return the reason in one sentence."""
    if event.observed:
        return f"If enforced, it would be denied: {Reason(event.observed).words}."
    if event.reason:
        words = Reason(event.reason).words
        return f"{words[:1].upper()}{words[1:]}."
    if answer.decision.rule is not None:
        license_ = answer.decision.license
        by = (
            f", by a licence of type {license_.license_type}" if license_ is not None and license_.license_type else ""
        )
        return f"{rule_name(answer.decision.rule.index)} allows it{by}."
    if effective_mode(answer.policy, answer.facts) == Mode.DISABLED:
        return "The policy or the site was disabled, so no rule was evaluated."
    return "No rule matched, and the policy allows by default."
