"""Content import in the browser: upload, preview, confirmation, and the result of each row."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.datastructures import MultiValueDict
from unfold.decorators import action

from accounts.models import Account
from kit.http.errors import InvalidRequest
from kit.rest.heavy_mark import heavy
from licensing.content.models import CONTENT_TYPES, Content
from licensing.imports.files import detect_format
from licensing.imports.mapping import columns_by_name, is_target
from licensing.imports.preview import LARGER, TARGETS, Plan, PreviewOutcome, read_columns, run_plan
from operators.base.links import list_url
from operators.base.mixins import EDIT, AdminMixin, StyledForm
from operators.base.pages import page
from operators.base.related import RelatedInput
from operators.base.rights import right
from operators.base.scope import Scope, request_scope
from operators.catalogue.content_bulk import newest_policies
from operators.catalogue.uploads import EXPIRED, Upload, UploadField

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
        super().__init__(data, files, initial={"account": scope.only_visible_account_id()})
        accounts = forms.ModelChoiceField(
            queryset=scope.accounts(),
            help_text="The account that gets the items.",
            widget=RelatedInput(Content._meta.get_field("account"), site),
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
        return Plan(
            account_id=account_id,
            format=kind,
            columns=columns,
            defaults=given_defaults,
            allow_duplicates=cleaned["allow_duplicates"],
            dates=cleaned["dates"] or None,
        )


PLAN_SESSION_KEY = "import_plan"  # session entry with the last plan, for uploading a corrected file


class UploadMetadata(TypedDict):
    """The metadata of an import's Upload."""

    name: str  # file name
    state: Literal["preview", "running", "done", "failed"]
    failure: NotRequired[str | None]  # why it failed
    columns: list[str]
    read_as: str | None  # encoding, if a spreadsheet wrote other than UTF-8
    plan: NotRequired[dict[str, Any]]  # fields of licensing.imports.preview.Plan
    outcome: NotRequired[dict[str, Any]]  # fields of PreviewOutcome


class ContentImport(AdminMixin[Content]):
    """The import's pages, part of the content list."""

    has_import_permission = right("licensing.add_content", "licensing.change_content")

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("import/<str:token>/", view(self.import_preview), name="licensing_content_import"),
            path("import/<str:token>/bad-rows.csv", view(self.import_bad_rows), name="licensing_content_bad_rows"),
            *super().get_urls(),
        ]

    @heavy
    @action(description="Import", icon="upload_file", permissions=["import"], url_path="import")
    def import_items(self, request: HttpRequest) -> HttpResponse:
        scope = request_scope(request)
        form = UploadForm(request.POST or None, request.FILES or None, scope=scope, site=self.admin_site)
        if form.is_bound and form.is_valid():
            file = form.cleaned_data["file"]
            kind = form.cleaned_data["format"]
            metadata: UploadMetadata = {"name": file.name[:255], "state": "preview", "columns": [], "read_as": None}
            upload = Upload.store(request, file.chunks(), metadata)
            account_id = form.cleaned_data["account"].pk
            try:
                columns, encoding = read_columns(upload.path("data"), kind)
                upload.metadata["columns"] = columns
                upload.metadata["read_as"] = encoding
            except InvalidRequest as error:
                upload.drop_file()
                form.add_error("file", error.message)
            else:
                plan = last_plan(request, account_id, kind, columns)
                store_outcome(upload, upload.path("data"), plan, dry_run=True)
                return redirect("admin:licensing_content_import", upload.token)
        return page(
            request,
            self,
            "operators/catalogue/import_upload.html",
            title="Import content",
            form=form,
            media=form.media,
        )

    @heavy
    def import_preview(self, request: HttpRequest, token: str) -> HttpResponse:
        upload_and_plan = self.find_import(request, token)
        if upload_and_plan is None:
            messages.error(request, EXPIRED)
            return redirect("admin:licensing_content_import_items")
        upload, plan = upload_and_plan
        posted = request.POST if {"preview", EDIT} & request.POST.keys() else None
        columns = upload.metadata["columns"]
        form = PlanForm(posted, columns=columns, account_id=plan.account_id, initial=PlanForm.plan_values(plan))
        if upload.metadata["state"] == "preview" and request.method == "POST":
            if "import" in request.POST:
                run_import(upload, plan)
                return redirect("admin:licensing_content_import", token)
            if form.is_bound and form.is_valid():
                change_plan(request, upload, form.plan(plan.account_id, plan.format))
                return redirect("admin:licensing_content_import", token)
        title = f"Import {upload.metadata['name']}"
        context = preview_context(upload, plan)
        return page(
            request, self, "operators/catalogue/import_preview.html", title=title, original=None, form=form, **context
        )

    @heavy
    def import_bad_rows(self, request: HttpRequest, token: str) -> FileResponse:
        upload_and_plan = self.find_import(request, token)
        if upload_and_plan is None:
            raise Http404
        upload, _ = upload_and_plan
        if not upload.path("bad").exists():
            raise Http404
        name = f"{upload.metadata['name'].split('.')[0] or 'import'}-bad-rows.csv"
        file = upload.path("bad").open("rb")
        return FileResponse(file, as_attachment=True, filename=name, content_type="text/csv; charset=utf-8")

    def find_import(self, request: HttpRequest, token: str) -> tuple[Upload[UploadMetadata], Plan] | None:
        if not self.has_import_permission(request):
            raise PermissionDenied
        upload: Upload[UploadMetadata] | None = Upload.find(request, token)
        if upload is None:
            return None
        plan = Plan(**upload.metadata["plan"])
        if not request_scope(request).includes(plan.account_id):  # the operator's scope may have changed
            return None
        return upload, plan


def last_plan(request: HttpRequest, account_id: str, kind: str, columns: list[str]) -> Plan:
    """Return the session's last plan for the account; other columns are matched by name."""
    last = request.session.get(PLAN_SESSION_KEY)
    if not last or (last["account_id"], last["format"]) != (account_id, kind):
        return Plan(account_id, kind, columns_by_name(columns))
    kept = {target: column for target, column in last["columns"].items() if column in columns}
    matched = columns_by_name([name for name in columns if name not in kept.values()])
    return Plan(**{**last, "columns": {**matched, **kept}})


def run_import(upload: Upload[UploadMetadata], plan: Plan) -> None:
    """Run the import unless it runs already. If it fails, the upload records why, and its page says so."""
    with suppress(InvalidRequest), upload.running() as file:
        if file is not None:
            store_outcome(upload, file, plan, dry_run=False)


def change_plan(request: HttpRequest, upload: Upload[UploadMetadata], plan: Plan) -> None:
    """Preview the import with another plan, and keep it for a corrected file."""
    request.session[PLAN_SESSION_KEY] = asdict(plan)
    store_outcome(upload, upload.path("data"), plan, dry_run=True)


def preview_context(upload: Upload[UploadMetadata], plan: Plan) -> dict[str, object]:
    """Return the template context of an import: its plan, and what it did or would do."""
    outcome = PreviewOutcome(**upload.metadata["outcome"])
    tally = outcome.tally
    return {
        "account": Account.objects.get(pk=plan.account_id),
        "state": upload.metadata["state"],
        "failure": upload.metadata.get("failure"),
        "outcome": outcome,
        "rows": sum(tally.values()),
        "writes": tally.get("created", 0) + tally.get("updated", 0),
        "columns": upload.metadata["columns"],
        "read_as": upload.metadata.get("read_as"),
        "labels": [TARGETS.get(target, target) for target in plan.columns],
        "bad_rows": reverse("admin:licensing_content_bad_rows", args=[upload.token]),
        "items": list_url(Content, account__id__exact=plan.account_id),
    }


def store_outcome(upload: Upload[UploadMetadata], file: Path, plan: Plan, *, dry_run: bool) -> None:
    """Run the plan; store what it did or, with `dry_run`, would do."""
    with upload.open_for_writing("bad") as bad:
        outcome = run_plan(file, plan, bad, dry_run=dry_run)
    upload.metadata["state"] = "preview" if dry_run else "done"
    upload.metadata["plan"] = asdict(plan)
    upload.metadata["outcome"] = asdict(outcome)
    upload.save()
