"""An object's history is its audit log: changes by the admin, keys and commands."""

from typing import ClassVar

from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.models import AuditEntry
from operators.base.links import list_url
from operators.base.mixins import AdminMixin, ModelT

VIEW_AUDIT_LOG = "accounts.view_auditentry"


class AuditedHistory(AdminMixin[ModelT]):
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
        obj = self.get_object(request, unquote(object_id))
        if obj is None:
            raise Http404
        if not self.has_view_or_change_permission(request, obj) or not request.user.has_perm(VIEW_AUDIT_LOG):
            raise PermissionDenied
        return redirect(list_url(AuditEntry, q=str(obj.pk), **({"kind": self.kind} if self.kind else {})))

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, object],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: ModelT | None = None,
    ) -> HttpResponse:
        context["show_history"] = request.user.has_perm(VIEW_AUDIT_LOG)
        return super().render_change_form(request, context, add, change, form_url, obj)
