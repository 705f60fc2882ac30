"""/v1/audit: who changed what, and when. Entries are read and nothing else."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_view import AccountListView, AccountView
from accounts.filters import AuditFilters
from accounts.models import AuditEntry
from accounts.serializers import AuditEntrySerializer
from kit.rest.resources import find


class AuditView(AccountView):
    permissions_required = {"GET": "audit:read"}
    serializer_class = AuditEntrySerializer
    queryset = AuditEntry.objects.none()

    def owned(self) -> QuerySet[AuditEntry]:
        return AuditEntry.objects.filter(account_id=self.account_id)


class AuditLog(AuditView, AccountListView):
    filterset_class = AuditFilters

    @extend_schema(summary="List changes", responses=AuditEntrySerializer(many=True))
    def get(self, request: Request) -> Response:
        """Every change to the account and what it owns, newest first: by keys, operators, commands and the service."""
        return self.list()


class AuditEntryById(AuditView):
    @extend_schema(summary="Get a change")
    def get(self, request: Request, id: str) -> Response:  # noqa: A002
        return Response(AuditEntrySerializer(find(self.owned(), id)).data)
