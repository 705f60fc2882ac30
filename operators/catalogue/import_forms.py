"""The forms of an import: the file, then the column of each field."""

from collections.abc import Mapping

from django import forms
from django.contrib.admin import AdminSite
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict

from kit.http.errors import InvalidRequest
from licensing.content.models import CONTENT_TYPES, Content
from licensing.imports.files import detect_format
from licensing.imports.mapping import is_target
from licensing.imports.preview import LARGER, TARGETS, Plan
from operators.base.mixins import StyledForm
from operators.base.scope import Scope
from operators.catalogue.content_bulk import newest_policies
from operators.catalogue.uploads import UploadField

MAX_COLUMNS = 500  # to choose from
METADATA = "metadata."


class UploadForm(StyledForm, forms.Form):
    """The file to import; `cleaned_data` includes its `format`."""

    file = UploadField(
        "CSV with a header, JSON or a sitemap, plain or gzipped", LARGER, accept=".csv,.jsonl,.ndjson,.json,.xml,.gz"
    )

    def __init__(
        self,
        data: QueryDict | None = None,
        files: MultiValueDict[str, UploadedFile] | None = None,
        *,
        scope: Scope,
        site: AdminSite,
    ) -> None:
        super().__init__(data, files, initial={"account": scope.sole_account()})
        accounts = forms.ModelChoiceField(
            queryset=scope.accounts(),
            help_text="The account that gets the items.",
            widget=AutocompleteSelect(Content._meta.get_field("account"), site),
        )
        self.fields = {"account": accounts, **self.fields}

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        try:
            self.cleaned_data["format"] = detect_format(file.name or "")
        except InvalidRequest:
            raise forms.ValidationError(
                "The name must end in .csv, .jsonl, .ndjson, .json or .xml, optionally followed by .gz."
            ) from None
        return file


class PlanForm(StyledForm, forms.Form):
    """The column of each field, and defaults for empty cells."""

    others = forms.BooleanField(
        required=False,
        label="Other columns are metadata",
        help_text="Columns that are not chosen below become metadata keys of the same name.",
    )
    allow_duplicates = forms.BooleanField(
        required=False,
        label="Rows without an external id are new items",
        help_text="Importing the file again then creates the items again.",
    )
    dates = forms.ChoiceField(
        required=False,
        label="Dates such as 04/05/2026",
        choices=[("", "detect"), ("day-first", "4 May"), ("month-first", "April 5")],
    )
    default_type = forms.ChoiceField(
        required=False,
        label="Default type",
        choices=[("", "article for new items"), *CONTENT_TYPES],
    )

    def __init__(
        self, data: QueryDict | None, *, columns: list[str], account_id: str, initial: Mapping[str, object]
    ) -> None:
        super().__init__(data, initial=dict(initial))
        self.fields["default_policy"] = forms.ChoiceField(
            required=False,
            label="Default policy",
            choices=[("", "none for new items"), *newest_policies(account_id)],
        )
        self.columns = columns
        choices = [("", "–"), *((name, name[:60]) for name in columns[:MAX_COLUMNS])]
        for target, label in TARGETS.items():
            self.fields[target] = forms.ChoiceField(required=False, label=label, choices=choices)

    @staticmethod
    def plan_values(plan: Plan) -> dict[str, object]:
        return {
            **plan.columns,
            "others": any(name not in TARGETS and name != column for name, column in plan.columns.items()),
            "allow_duplicates": plan.allow_duplicates,
            "dates": plan.dates or "",
            "default_type": plan.defaults.get("type", ""),
            "default_policy": plan.defaults.get("policyId", ""),
        }

    def plan(self, account_id: str, kind: str) -> Plan:
        cleaned = self.cleaned_data
        columns = {target: cleaned[target] for target in TARGETS if cleaned[target]}
        for column in self.columns:  # columns named metadata.… are always included
            target = METADATA + column.removeprefix(METADATA)
            is_selected = cleaned["others"] or column.startswith(METADATA)
            if is_selected and column not in columns.values() and target not in TARGETS and is_target(target):
                columns[target] = column
        defaults = {"type": cleaned["default_type"], "policyId": cleaned["default_policy"]}
        given_defaults = {name: value for name, value in defaults.items() if value}
        return Plan(account_id, kind, columns, given_defaults, cleaned["allow_duplicates"], cleaned["dates"] or None)
