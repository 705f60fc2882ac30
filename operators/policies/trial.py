"""A dry-run check: its form, and its result with the trace in words."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django import forms
from django.utils import timezone

from kit.http.errors import ValidationFailed
from kit.values.faults import Fault
from kit.values.timestamps import parse_timestamp
from licensing.access.bodies import parse_check
from licensing.access.check_values import Check
from licensing.access.deciding import Answer
from licensing.access.describe_decision import DescribedDecision, describe_decision
from licensing.policies.describe_rule import RuleJson
from licensing.policies.facts import ASKED, Fact, Recorded
from operators.base.mixins import StyledForm
from operators.base.suggesting import SCRIPT, SuggestionKind, with_suggestions

# The form's fields by API name.
FIELD_NAMES = {"contentId": "item", "externalId": "item", "source": "item", "page": "item"} | {
    fact.path: fact.name for fact in ASKED
}


FIRST_YEAR, MAX_YEARS = 2000, 10  # of a check's time; how far ahead, because wallets make each refill until then
MAX_TEXT = 50_000  # characters of a field: the largest metadata of a requester fits


def char_field(label: str, help_text: str = "", *, required: bool = False, most: int = 2_048) -> forms.CharField:
    return forms.CharField(label=label, help_text=help_text, required=required, max_length=most)


def fact_field(fact: Fact) -> forms.Field:
    if fact.type is bool:
        known = (("", "not known"), ("yes", "yes"))
        return forms.ChoiceField(label=fact.field, help_text=fact.hint, required=False, choices=known)
    return char_field(fact.field, fact.hint, most=MAX_TEXT)


SUGGESTION_KINDS = {
    "item": SuggestionKind.ITEM,
    "requester": SuggestionKind.REQUESTER,
    "licenseType": SuggestionKind.LICENSE_TYPE,
    "permission": SuggestionKind.PERMISSION,
}


class TrialForm(StyledForm, forms.Form):
    """A check. `account_id` restricts suggestions; without it, the form's own field does.

    The table's askable facts appear between the requester and the time.
    """

    item = char_field("Item", "Its id, your own id for it, or its URL.", required=True)
    requester = char_field("Customer", required=True)
    at = char_field("Time", "As 2026-01-31T12:00:00Z; empty: now.")

    def __init__(
        self,
        data: Mapping[str, object] | None = None,
        initial: Mapping[str, object] | None = None,
        *,
        account_id: str | None = None,
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
        for fact in ASKED:
            self.fields[fact.name] = fact_field(fact)
        self.order_fields(["item", "requester", *(fact.name for fact in ASKED), "at"])
        self.fields |= with_suggestions(self.fields, SUGGESTION_KINDS, account_id)

    @property
    def media(self) -> forms.Media:
        return super().media + forms.Media(js=[SCRIPT])

    def clean_at(self) -> datetime:
        text = self.cleaned_data["at"]
        now = timezone.now()
        years = range(FIRST_YEAR, now.year + MAX_YEARS + 1)
        try:
            moment = parse_timestamp(text) if text else now
            if moment.year not in years:
                raise ValueError(f"Must be in the years {years[0]} to {years[-1]} (UTC).")
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None
        return moment

    def check(self) -> Check:
        """Return the dry run that the form describes. Raises ValidationFailed."""
        fields = self.cleaned_data
        item = fields["item"].strip()
        selector = "externalId"
        if item.startswith("cnt_"):
            selector = "contentId"
        elif "://" in item:
            selector = "source"
        body: Recorded = {selector: item, "requester": {"id": fields["requester"]}, "context": {}}
        for fact in ASKED:
            value = typed_value(fact, fields[fact.name])
            if value:  # empty texts and "not known" are left out
                if fact.key:
                    body[fact.part][fact.key] = value
                else:
                    body[fact.part] = value
        return parse_check({**body, "dryRun": True, "explain": True})


def typed_value(fact: Fact, typed: str) -> object:
    """Convert a typed value to JSON. Raises ValidationFailed."""
    if fact.type is bool:
        return typed == "yes"
    try:
        return fact.read_text(typed)
    except Fault as fault:
        raise ValidationFailed(fault.message, param=fact.path) from None


def typed_fields(recorded: Recorded) -> dict[str, str]:
    """Return the form texts for recorded facts."""
    return {fact.name: fact.text(recorded[fact.name]) for fact in ASKED if fact.name in recorded}


class DecisionSide(DescribedDecision):
    title: str


def build_side(title: str, answer: Answer, rules: Sequence[RuleJson]) -> DecisionSide:
    return {"title": title, **describe_decision(answer, rules)}
