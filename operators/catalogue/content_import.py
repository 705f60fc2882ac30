"""Content import in the browser: upload, preview, confirmation, and the result of each row."""

from contextlib import suppress
from dataclasses import asdict
from typing import Any, Literal, NotRequired, TypedDict

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from unfold.decorators import action

from accounts.models import Account
from kit.http.errors import InvalidRequest
from kit.rest.heavy import heavy
from licensing.content.models import Content
from licensing.imports.mapping import columns_by_name
from licensing.imports.preview import TARGETS, Plan, PreviewOutcome, read_columns, run_plan
from operators.base.links import list_url
from operators.base.mixins import EDIT, AdminMixin
from operators.base.pages import page
from operators.base.scope import request_scope
from operators.catalogue.import_forms import PlanForm, UploadForm
from operators.catalogue.uploads import EXPIRED, Upload, purge

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

    def has_import_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return request.user.has_perms(["licensing.add_content", "licensing.change_content"])

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
            purge()
            metadata: UploadMetadata = {"name": file.name[:255], "state": "preview", "columns": [], "read_as": None}
            upload = Upload.keep(request, file.chunks(), metadata)
            account_id = form.cleaned_data["account"].pk
            try:
                columns, encoding = read_columns(upload.path("data"), kind)
                upload.metadata["columns"] = columns
                upload.metadata["read_as"] = encoding
            except InvalidRequest as error:
                upload.drop_file()
                form.add_error("file", error.message)
            else:
                store_preview(upload, last_plan(request, account_id, kind, columns))
                return redirect_to_import(upload)
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
        columns = upload.metadata["columns"]
        posted = request.POST if {"preview", EDIT} & request.POST.keys() else None
        form = PlanForm(posted, columns=columns, account_id=plan.account_id, initial=PlanForm.plan_values(plan))
        if upload.metadata["state"] == "preview" and request.method == "POST":
            if "import" in request.POST:
                run_import_once(upload, plan)
                return redirect_to_import(upload)
            if form.is_bound and form.is_valid():
                chosen = form.plan(plan.account_id, plan.format)
                request.session[PLAN_SESSION_KEY] = asdict(chosen)
                store_preview(upload, chosen)
                return redirect_to_import(upload)
        outcome = PreviewOutcome(**upload.metadata["outcome"])
        tally = outcome.tally
        context: dict[str, object] = {
            "account": Account.objects.get(pk=plan.account_id),
            "state": upload.metadata["state"],
            "failure": upload.metadata.get("failure"),
            "outcome": outcome,
            "rows": sum(tally.values()),
            "writes": tally.get("created", 0) + tally.get("updated", 0),
            "columns": columns,
            "read_as": upload.metadata.get("read_as"),
            "labels": [TARGETS.get(target, target) for target in plan.columns],
            "bad_rows": reverse("admin:licensing_content_bad_rows", args=[token]),
            "items": list_url(Content, account__id__exact=plan.account_id),
            "form": form,
        }
        title = f"Import {upload.metadata['name']}"
        return page(request, self, "operators/catalogue/import_preview.html", title=title, original=None, **context)

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


def redirect_to_import(upload: Upload[UploadMetadata]) -> HttpResponse:
    return redirect("admin:licensing_content_import", upload.token)


def last_plan(request: HttpRequest, account_id: str, kind: str, columns: list[str]) -> Plan:
    """Return the session's last plan for the account; other columns are matched by name."""
    last = request.session.get(PLAN_SESSION_KEY)
    if not last or (last["account_id"], last["format"]) != (account_id, kind):
        return Plan(account_id, kind, columns_by_name(columns))
    kept = {target: column for target, column in last["columns"].items() if column in columns}
    matched = columns_by_name([name for name in columns if name not in kept.values()])
    return Plan(**{**last, "columns": {**matched, **kept}})


def store_preview(upload: Upload[UploadMetadata], plan: Plan) -> None:
    """Compute and store the plan's outcome."""
    with upload.open_for_writing("bad") as bad:
        outcome = run_plan(upload.path("data"), plan, bad, dry_run=True)
    upload.metadata["plan"] = asdict(plan)
    upload.metadata["outcome"] = asdict(outcome)
    upload.save()


def run_import_once(upload: Upload[UploadMetadata], plan: Plan) -> None:
    """Execute the plan, once."""
    with suppress(InvalidRequest), upload.running() as file:
        if file is None:
            return
        with upload.open_for_writing("bad") as bad:
            outcome = run_plan(file, plan, bad, dry_run=False)
        upload.metadata["state"] = "done"
        upload.metadata["outcome"] = asdict(outcome)
        upload.save()
