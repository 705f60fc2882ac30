"""The history of an object is what the audit log tells of it: by the admin, by keys and by commands."""

from typing import Any, ClassVar

from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.models import AuditEntry
from operators.base.links import list_url

VIEW_AUDIT_LOG = "accounts.view_auditentry"


class AuditedHistory:
    """For a ModelAdmin whose changes are all in the audit log."""

    kind: ClassVar[str] = ""  # of resource in the log, where ids alone do not tell

    def history_view(self: Any, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        obj = self.get_object(request, unquote(object_id))
        if obj is None:
            raise Http404
        if not self.has_view_or_change_permission(request, obj) or not request.user.has_perm(VIEW_AUDIT_LOG):
            raise PermissionDenied
        return redirect(list_url(AuditEntry, q=str(obj.pk), **({"kind": self.kind} if self.kind else {})))

    def render_change_form(self: Any, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        context["show_history"] = request.user.has_perm(VIEW_AUDIT_LOG)
        response: HttpResponse = super().render_change_form(request, context, *args, **kwargs)  # type: ignore[misc]
        return response
