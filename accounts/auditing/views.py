"""/v1/audit."""

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from accounts.auditing.filters import AuditFilters
from accounts.auditing.models import AuditEntry
from accounts.auditing.serializers import AuditEntrySerializer
from accounts.viewsets import AccountViewSet
from kit.rest.lists.windows import WindowedPagination


class AuditViewSet(AccountViewSet[AuditEntry]):
    """Read-only access to the audit log."""

    permissions_required = {"list": "audit:read", "retrieve": "audit:read"}
    exportable = {"list": "audit"}
    serializer_class = AuditEntrySerializer
    filterset_class = AuditFilters
    pagination_class = WindowedPagination
    queryset = AuditEntry.objects.all()

    @extend_schema(summary="List changes", responses=AuditEntrySerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Every change to the account and its resources, newest first, by keys, operators, commands and the
        service.
        """
        return self.page()

    @extend_schema(summary="Get a change")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())
