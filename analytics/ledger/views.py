"""/v1/revenue: the ledger (contract §11). Entries are added and never changed."""

from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_view import AccountListView, AccountView
from analytics.ledger.adjustments import adjust
from analytics.ledger.filters import LedgerFilters
from analytics.ledger.serializers import AdjustmentSerializer, LedgerEntrySerializer
from analytics.models import LedgerEntry
from kit.rest.resources import find


class LedgerView(AccountView):
    serializer_class = LedgerEntrySerializer
    queryset = LedgerEntry.objects.none()
    exact_numbers = True

    def owned(self) -> QuerySet[LedgerEntry]:
        return LedgerEntry.objects.filter(account_id=self.account_id).select_related("requester")


class Ledger(LedgerView, AccountListView):
    permissions_required = {"GET": "revenue:read", "POST": "revenue:write"}
    filterset_class = LedgerFilters
    exportable = "revenue"

    @extend_schema(summary="List ledger entries", responses=LedgerEntrySerializer(many=True))
    def get(self, request: Request) -> HttpResponseBase:
        """What was earned and given back, the latest entry first: licences, charged checks, and adjustments."""
        return self.list()

    @extend_schema(summary="Add an adjustment", request=AdjustmentSerializer, responses={201: LedgerEntrySerializer})
    def post(self, request: Request) -> Response:
        """A refund, a correction, a sale made elsewhere. It cannot be changed: correct it by a further one.

        What it names must exist. Of a decision or a licence it takes the tier, the item and the requester over, where
        they are not given.
        """
        fields = self.validated(AdjustmentSerializer)
        return Response(LedgerEntrySerializer(adjust(self.account_id, fields)).data, status=201)


class LedgerEntryById(LedgerView):
    permissions_required = {"GET": "revenue:read"}

    @extend_schema(summary="Get a ledger entry")
    def get(self, request: Request, id: str) -> Response:  # noqa: A002
        return Response(LedgerEntrySerializer(find(self.owned(), id)).data)
