"""The forms of an import: the file, and then which column gives which field."""

from typing import Any

from django import forms
from django.contrib.admin.widgets import AutocompleteSelect
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldBooleanWidget,
)

from kit.http.errors import InvalidRequest
from licensing.content.models import CONTENT_TYPES, Content
from licensing.imports.mapping import is_target
from licensing.imports.preview import LARGER, MOST_BYTES, TARGETS, Plan
from licensing.imports.rows import format_of
from operators.base.scope import Scope
from operators.catalogue.content_bulk import newest_policies

MOST_COLUMNS = 500  # to choose from
METADATA = "metadata."


class UploadForm(forms.Form):
    """`cleaned_data` has the format of the file beside it."""

    account: Any = forms.ModelChoiceField(queryset=None, help_text="Whose items they are to be.")
    file = forms.FileField(
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".csv,.jsonl,.ndjson,.gz"}),
        help_text=f"CSV with a header, or JSON Lines, plain or gzipped, of up to {MOST_BYTES >> 20} MiB. {LARGER}",
    )

    def __init__(self, *args: Any, scope: Scope, site: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        accounts: Any = self.fields["account"]
        accounts.queryset = scope.accounts()
        accounts.initial = scope.only_account()
        accounts.widget = AutocompleteSelect(Content._meta.get_field("account"), site)
        accounts.widget.choices = accounts.choices

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MOST_BYTES:
            raise forms.ValidationError(f"Is larger than {MOST_BYTES >> 20} MiB. {LARGER}")
        try:
            self.cleaned_data["format"] = format_of(file.name)
        except InvalidRequest:
            raise forms.ValidationError(
                "The name must end in .csv, .jsonl or .ndjson, or in one of these and .gz."
            ) from None
        return file


class PlanForm(forms.Form):
    """Which column gives each field, and what a field gets where a row gives it nothing."""

    others = forms.BooleanField(
        required=False,
        widget=UnfoldBooleanWidget,
        label="Other columns are metadata",
        help_text="Each column that is not chosen below becomes a metadata key of its name.",
    )
    allow_duplicates = forms.BooleanField(
        required=False,
        widget=UnfoldBooleanWidget,
        label="Rows without an external id are new items",
        help_text="The same file again then makes the same items again.",
    )
    default_type = forms.ChoiceField(
        required=False,
        label="Type, where a row gives none",
        choices=[("", "article for new items"), *CONTENT_TYPES],
        widget=UnfoldAdminSelectWidget,
    )
    default_policy = forms.ChoiceField(
        required=False, label="Policy, where a row gives none", widget=UnfoldAdminSelectWidget
    )

    def __init__(self, *args: Any, columns: list[str], account_id: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.columns = columns
        choices = [("", "–"), *((name, name[:60]) for name in columns[:MOST_COLUMNS])]
        for target, label in TARGETS.items():
            self.fields[target] = forms.ChoiceField(
                required=False, label=label, choices=choices, widget=UnfoldAdminSelectWidget
            )
        policies: Any = self.fields["default_policy"]
        policies.choices = [("", "none for new items"), *newest_policies(account_id)]

    @staticmethod
    def initial_of(plan: Plan) -> dict[str, Any]:
        return {
            **plan.columns,
            "others": any(name not in TARGETS and name != column for name, column in plan.columns.items()),
            "allow_duplicates": plan.allow_duplicates,
            "default_type": plan.defaults.get("type", ""),
            "default_policy": plan.defaults.get("policyId", ""),
        }

    def plan(self, account_id: str, kind: str) -> Plan:
        cleaned = self.cleaned_data
        columns = {target: cleaned[target] for target in TARGETS if cleaned[target]}
        for column in self.columns:  # what is called metadata.… is taken anyway, as without this form
            target = METADATA + column.removeprefix(METADATA)
            wanted = cleaned["others"] or column.startswith(METADATA)
            if wanted and column not in columns.values() and target not in TARGETS and is_target(target):
                columns[target] = column
        defaults = {"type": cleaned["default_type"], "policyId": cleaned["default_policy"]}
        given = {name: value for name, value in defaults.items() if value}
        return Plan(account_id, kind, columns, given, cleaned["allow_duplicates"])
