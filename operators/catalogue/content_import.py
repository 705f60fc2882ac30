"""Importing content in the browser: the file, what it would do, the confirmation, and what became of each row."""

from dataclasses import asdict
from typing import Any

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
from licensing.imports.preview import MOST_SHOWN, TARGETS, Plan, PreviewOutcome, carry_out, columns_by_name, columns_of
from operators.base.frame import page
from operators.base.links import list_url
from operators.base.scope import request_scope
from operators.base.uploads import Upload, purge
from operators.catalogue.import_forms import PlanForm, UploadForm

GONE = "This import is not there any more: a file is kept for a day, for the session that brought it. Bring it again."


class ContentImport:
    """Views of the list of content. What is known of an import is in its Upload's `about`:

    the file's `name` and `columns`, `plan` and `outcome` as of licensing.imports.preview, and `state`: `preview`,
    `running` or `done`.
    """

    admin_site: Any

    def has_import_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return request.user.has_perms(["licensing.add_content", "licensing.change_content"])

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("import/<str:token>/", view(self.import_preview), name="licensing_content_import"),
            path("import/<str:token>/bad-rows.csv", view(self.import_bad_rows), name="licensing_content_bad_rows"),
            *super().get_urls(),  # type: ignore[misc]
        ]

    @heavy
    @action(description="Import", icon="upload_file", permissions=["import"], url_path="import")
    def import_items(self, request: HttpRequest) -> HttpResponse:
        scope = request_scope(request)
        given = (request.POST, request.FILES) if request.method == "POST" else ()
        form = UploadForm(*given, scope=scope, site=self.admin_site)
        if form.is_bound and form.is_valid():
            file, kind = form.cleaned_data["file"], form.cleaned_data["format"]
            purge()
            about = {"name": file.name[:255], "state": "preview", "columns": []}
            upload = Upload.keep(request, file.chunks(), about)
            account_id = form.cleaned_data["account"].pk
            try:
                upload.about["columns"] = columns = columns_of(upload.path("data"), kind)
            except InvalidRequest as error:
                upload.drop_file()
                form.add_error("file", error.message)
            else:
                preview(upload, Plan(account_id, kind, columns_by_name(columns)))
                return to_import(upload)
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
        upload, plan = self.found_import(request, token)
        if upload is None or plan is None:
            messages.error(request, GONE)
            return redirect("admin:licensing_content_import_items")
        columns = upload.about["columns"]
        posted = request.POST if "preview" in request.POST else None
        form = PlanForm(posted, columns=columns, account_id=plan.account_id, initial=PlanForm.initial_of(plan))
        if upload.about["state"] == "preview" and request.method == "POST":
            if "import" in request.POST:
                run(upload, plan)
                return to_import(upload)
            if form.is_bound and form.is_valid():
                preview(upload, form.plan(plan.account_id, plan.format))
                return to_import(upload)
        outcome = PreviewOutcome(**upload.about["outcome"])
        tally = outcome.tally
        context = {
            "account": Account.objects.get(pk=plan.account_id),
            "state": upload.about["state"],
            "outcome": outcome,
            "rows": sum(tally.values()),
            "writes": tally.get("created", 0) + tally.get("updated", 0),
            "labels": [TARGETS.get(target, target) for target in plan.columns],
            "more_bad": max(0, tally.get("failed", 0) - MOST_SHOWN),
            "bad_rows": reverse("admin:licensing_content_bad_rows", args=[token]),
            "again": reverse("admin:licensing_content_import_items"),
            "items": list_url(Content, account__id__exact=plan.account_id),
            "form": form,
        }
        title = f"Import {upload.about['name']}"
        return page(request, self, "operators/catalogue/import_preview.html", title=title, **context)

    @heavy
    def import_bad_rows(self, request: HttpRequest, token: str) -> HttpResponse:
        upload, _ = self.found_import(request, token)
        if upload is None or not upload.path("bad").exists():
            raise Http404
        name = f"{upload.about['name'].split('.')[0] or 'import'}-bad-rows.csv"
        file = upload.path("bad").open("rb")
        response: Any = FileResponse(file, as_attachment=True, filename=name, content_type="text/csv; charset=utf-8")
        return response

    def found_import(self, request: HttpRequest, token: str) -> tuple[Upload | None, Plan | None]:
        if not self.has_import_permission(request):
            raise PermissionDenied
        upload = Upload.find(request, token)
        if upload is None:
            return None, None
        plan = Plan(**upload.about["plan"])
        # What one may see can have been narrowed since.
        return (upload, plan) if request_scope(request).includes(plan.account_id) else (None, None)


def to_import(upload: Upload) -> HttpResponse:
    return redirect("admin:licensing_content_import", upload.token)


def preview(upload: Upload, plan: Plan) -> None:
    """Works out what the plan would do, and keeps that."""
    with upload.written("bad") as bad:
        outcome = carry_out(upload.path("data"), plan, bad, dry_run=True)
    upload.about |= {"plan": asdict(plan), "outcome": asdict(outcome)}
    upload.save()


def run(upload: Upload, plan: Plan) -> None:
    """Does what was previewed, once."""
    file = upload.take()
    if file is None:
        return
    upload.about["state"] = "running"
    upload.save()
    try:
        with upload.written("bad") as bad:
            outcome = carry_out(file, plan, bad, dry_run=False)
        upload.about |= {"state": "done", "outcome": asdict(outcome)}
        upload.save()
    finally:
        upload.drop_file()
