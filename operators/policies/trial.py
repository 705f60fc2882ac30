"""One check, decided as a dry run: its form, and what came of it with the trace in words."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django import forms
from django.utils import timezone
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from kit.values.timestamps import parse_timestamp
from licensing.access.answers import Answer
from licensing.access.bodies import Check, parse_check
from licensing.access.in_words import DecisionInWords, in_words
from licensing.policies.in_words import Rule
from operators.base.suggesting import SCRIPT, Kind, suggesting

# The fields of a trial by the API's names.
NAMES = {"contentId": "item", "externalId": "item", "source": "item", "page": "item", "context": "ip"}


def text(label: str, help_text: str = "", *, required: bool = False) -> forms.CharField:
    return forms.CharField(
        label=label, help_text=help_text, required=required, max_length=2048, widget=UnfoldAdminTextInputWidget
    )


SUGGESTED = {
    "item": Kind.ITEM,
    "requester": Kind.REQUESTER,
    "license_type": Kind.LICENSE_TYPE,
    "permission": Kind.PERMISSION,
}


class TrialForm(forms.Form):
    """`account_id` is the one whose items and words are suggested; without one the form's own field says it."""

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

    def __init__(
        self,
        data: Mapping[str, object] | None = None,
        initial: Mapping[str, object] | None = None,
        *,
        account_id: str | None = None,
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
        self.fields |= suggesting(self.fields, SUGGESTED, account_id)

    @property
    def media(self) -> forms.Media:
        return super().media + forms.Media(js=[SCRIPT])

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


class Side(DecisionInWords):
    title: str


def side_of(title: str, answer: Answer, rules: Sequence[Rule]) -> Side:
    return {"title": title, **in_words(answer, rules)}
