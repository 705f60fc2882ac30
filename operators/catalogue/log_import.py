"""Import of an access log in the browser: upload, what it would record, confirmation, and the result."""

import json
import subprocess
import sys
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.html import format_html
from unfold.decorators import action

from kit.http.errors import InvalidRequest
from kit.rest.heavy_mark import heavy
from licensing.logs.formats import FORMATS, get_parser
from licensing.policies.decision import Reason
from licensing.sites.models import Site
from operators.base.figures.terms import format_sums
from operators.base.mixins import StyledForm
from operators.base.model_admin import ServiceAdmin
from operators.base.pages import page
from operators.base.times import shown_time
from operators.catalogue.uploads import EXPIRED, LARGER_LOGS, Upload, UploadField

REFUSAL = "CommandError: "
MAX_REPORTED = 2_000  # characters of a crash
MAX_READ_BYTES = 100 * 1024 * 1024  # of the upload, decompressed
MAX_SHOWN_PROBLEMS = 20  # problems


LogResult = dict[str, Any]  # the object that the command prints (licensing.logs.totals.present_import)


def run_import_command(
    file: Path, site: str, log_format: str, *, dry_run: bool, with_live: bool, most_bytes: int
) -> LogResult:
    """Run the command `import_access_log` and return its result. Raises InvalidRequest with the command's reason."""
    arguments = ["import_access_log", str(file), f"--site={site}", "--json", f"--most-bytes={most_bytes}"]
    if log_format:
        arguments.append(f"--format={log_format}")
    if dry_run:
        arguments.append("--dry-run")
    if with_live:
        arguments.append("--include-live")
    done = run_command(arguments)
    if done.returncode == 0:
        result: LogResult = json.loads(done.stdout.splitlines()[-1], parse_float=Decimal)
        return result
    _, refusal, reason = done.stderr.rpartition(REFUSAL)
    if not refusal:
        raise RuntimeError(f"The import ended with {done.returncode}: {done.stderr[-MAX_REPORTED:]}")
    raise InvalidRequest(reason.strip())


def run_command(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments, "--no-color"]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - no shell reads it


class LogForm(StyledForm, forms.Form):
    file = UploadField("The log of a web server or CDN, plain or compressed", LARGER_LOGS)
    format = forms.ChoiceField(choices=[("", "Detect"), *((name, name) for name in FORMATS)], required=False)
    format_string = forms.CharField(
        max_length=2_000,
        required=False,
        label="Or its format string",
        help_text='As in the configuration of Apache, nginx or Envoy, such as %h %l %u %t "%r" %>s "%{User-Agent}i".',
    )
    with_live = forms.BooleanField(
        required=False,
        label="Also hours in which a proxy asked about the site",
        help_text="Their requests are recorded already, and would count twice.",
    )

    def clean_format_string(self) -> str:
        text: str = self.cleaned_data["format_string"]
        if text:
            try:
                get_parser(text)
            except InvalidRequest as error:
                raise forms.ValidationError(error.message) from None
        return text


class LogMetadata(TypedDict):
    """The metadata of a log's Upload."""

    name: str  # file name
    site: str
    state: Literal["preview", "running", "done", "failed"]
    failure: NotRequired[str | None]  # why it failed
    format: str  # empty to detect it
    with_live: bool
    facts: NotRequired[list[tuple[str, str]]]
    first: NotRequired[str | None]  # time of the first request, ISO 8601
    last: NotRequired[str | None]
    problems: NotRequired[list[tuple[int, str]]]
    imported: NotRequired[int]  # lines


class LogUploads(ServiceAdmin[Site]):
    """The import's pages, part of a site's page."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.log_preview)
        return [path("log/<str:token>/", view, name="licensing_site_log"), *super().get_urls()]

    @heavy
    @action(description="Import log", icon="upload_file", permissions=["changing"], url_path="import-log")
    def import_log(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the log, and decide its requests without writing anything."""
        site = self.require_object(request, object_id)
        form = LogForm(request.POST or None, request.FILES or None)
        if form.is_bound and form.is_valid():
            file = form.cleaned_data["file"]
            metadata: LogMetadata = {
                "name": file.name[:255],
                "site": site.pk,
                "state": "preview",
                "format": form.cleaned_data["format_string"] or form.cleaned_data["format"],
                "with_live": form.cleaned_data["with_live"],
            }
            upload = Upload.store(request, file.chunks(), metadata)
            try:
                store_import_result(upload, upload.path("data"), site, dry_run=True)
            except InvalidRequest as error:
                upload.drop_file()
                form.add_error("file", error.message.replace("--format", "the field format"))
            else:
                return redirect("admin:licensing_site_log", upload.token)
        return page(
            request,
            self,
            "operators/catalogue/import_upload.html",
            title=f"Import an access log of {site.host}",
            original=site,
            form=form,
            media=form.media,
        )

    @heavy
    def log_preview(self, request: HttpRequest, token: str) -> HttpResponse:
        """Show what the import would record, or has recorded; a POST imports, once."""
        upload: Upload[LogMetadata] | None = Upload.find(request, token)
        if upload is None:
            messages.error(request, EXPIRED)
            return redirect("admin:licensing_site_changelist")
        site = self.require_object(request, upload.metadata["site"])
        if request.method == "POST" and self.has_changing_permission(request, site.pk):
            with suppress(InvalidRequest), upload.running() as file:
                if file is not None:
                    store_import_result(upload, file, site, dry_run=False)
            return redirect("admin:licensing_site_log", token)
        metadata = upload.metadata
        return page(
            request,
            self,
            "operators/catalogue/log_import.html",
            title=f"Import {metadata['name']} for {site.host}",
            original=site,
            about=metadata,
            facts=shown_facts(metadata),
            problems=metadata.get("problems", [])[:MAX_SHOWN_PROBLEMS],
        )


def store_import_result(upload: Upload[LogMetadata], file: Path, site: Site, *, dry_run: bool) -> None:
    """Decide the requests, and write them unless `dry_run`; store the result. Raises InvalidRequest."""
    metadata = upload.metadata
    result = run_import_command(
        file, site.pk, metadata["format"], dry_run=dry_run, with_live=metadata["with_live"], most_bytes=MAX_READ_BYTES
    )
    metadata["first"] = result["firstAt"]
    metadata["last"] = result["lastAt"]
    metadata["format"] = result["format"]
    metadata["state"] = "preview" if dry_run else "done"
    metadata["facts"] = log_facts(result)
    metadata["imported"] = result["imported"]
    metadata["problems"] = [(problem["line"], problem["message"]) for problem in result["problems"]]
    upload.save()


def shown_facts(metadata: LogMetadata) -> list[tuple[str, str]]:
    """Return the stored facts, and the time of the requests in the operator's time zone."""
    facts = list(metadata.get("facts", []))
    first = metadata.get("first")
    last = metadata.get("last")
    if first is not None and last is not None:
        times = [shown_time(datetime.fromisoformat(moment)) for moment in (first, last)]
        facts.insert(0, ("Time", format_html("{} to {}", *times)))
    return facts


def log_facts(result: LogResult) -> list[tuple[str, str]]:
    """Return the command's totals as pairs of label and value, without those that are 0."""
    imported = "To be imported" if result["dryRun"] else "Imported"
    skipped = result["skipped"]
    counts = {
        "Lines": result["lines"],
        imported: result["imported"],
        "Imported before": result["repeated"],
        "Of other hosts": skipped["otherHosts"],
        "Of pages that are open to everybody": skipped["openPages"],
        "Of assets": skipped["assets"],
        **{f"Answered with {row['status']}": row["count"] for row in result["notTakenByStatus"]},
        "Of hours with a proxy": skipped["live"],
        "Of purged times": skipped["purged"],
        "Without a request": skipped["notRequests"],
        "Malformed": result["malformed"],
    }
    facts = [(label, f"{number:,}") for label, number in counts.items() if number or label == imported]
    facts.append(("Understood", f"{float(result['understoodPercent']):g} % of the lines"))
    facts += [("Note", note) for note in result["notes"]]
    crawlers = result["crawlers"]
    verified, unverified = f"{crawlers['verified']:,}", f"{crawlers['unverified']:,}"
    facts.append(("By crawlers", f"{verified} verified, {unverified} unverified"))
    facts.append(("Would have been refused", f"{result['refused']:,}"))
    facts += [(f"Because {Reason(row['reason']).words}", f"{row['count']:,}") for row in result["byReason"]]
    if result["worth"]:
        facts.append(("Worth", format_sums({row["currency"]: Decimal(row["amount"]) for row in result["worth"]})))
    return facts
