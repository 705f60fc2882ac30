"""The audit log as an object's history."""

from typing import ClassVar

from django.contrib.admin.models import LogEntry
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.models import AuditEntry
from operators.base.links import list_url
from operators.base.mixins import FormPage, ModelT

VIEW_AUDIT_LOG = "accounts.view_auditentry"


class AuditedHistory(FormPage[ModelT]):
    """A mixin for ModelAdmins that shows the audit log as an object's history."""

    kind: ClassVar[str] = ""  # kind of resource in the log, if the id alone is ambiguous

    # Disables Django's own log: services write the audit log.

    def log_addition(self, request: HttpRequest, obj: Model, message: object) -> LogEntry:
        return LogEntry()

    def log_change(self, request: HttpRequest, obj: Model, message: object) -> LogEntry:
        return LogEntry()

    def log_deletions(self, request: HttpRequest, queryset: object) -> list[LogEntry]:
        return []

    def history_view(self, request: HttpRequest, object_id: str, extra_context: object = None) -> HttpResponse:
        obj = self.require_object(request, object_id)
        if not self.has_view_or_change_permission(request, obj) or not request.user.has_perm(VIEW_AUDIT_LOG):
            raise PermissionDenied
        filters = {"q": str(obj.pk)}
        if self.kind:
            filters["kind"] = self.kind
        return redirect(list_url(AuditEntry, **filters))

    def form_context(self, request: HttpRequest, form: ModelForm, obj: ModelT | None) -> dict[str, object]:
        return super().form_context(request, form, obj) | {"show_history": request.user.has_perm(VIEW_AUDIT_LOG)}
