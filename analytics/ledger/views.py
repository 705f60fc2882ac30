"""/v1/revenue: the append-only ledger."""

from collections.abc import Callable, Iterable, Sequence

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from accounts.viewsets import AccountViewSet
from analytics.ledger.filters import LedgerFilters
from analytics.ledger.refunds import balances_of
from analytics.ledger.serializers import AdjustmentSerializer, LedgerEntrySerializer
from analytics.ledger.services import adjust
from analytics.models import LedgerEntry
from kit.rest.lists.windows import WindowedPagination
from kit.storage.loading import join
from kit.values.json_values import Rendered


class LedgerViewSet(AccountViewSet[LedgerEntry]):
    permissions_required = {"list": "revenue:read", "retrieve": "revenue:read", "create": "revenue:write"}
    exportable = {"list": "revenue"}
    serializer_class = LedgerEntrySerializer
    filterset_class = LedgerFilters
    pagination_class = WindowedPagination
    queryset = join(LedgerEntry.objects.all(), "requester", "requester_id")
    exact_numbers = True

    @extend_schema(summary="List ledger entries", responses=LedgerEntrySerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Licence prices, charged checks and adjustments, newest first."""
        return self.page()

    def row_renderer(self, context: dict[str, object]) -> Callable[[Iterable[LedgerEntry]], Sequence[Rendered]]:
        return render_entries

    @extend_schema(summary="Add an adjustment", request=AdjustmentSerializer, responses={201: LedgerEntrySerializer})
    def create(self, request: Request) -> HttpResponse:
        """Adds a refund, a correction or a sale made elsewhere. Adjustments cannot be changed; correct one with
        another.

        A refund is a negative `amount` with a `decisionId`, or with a `licenseId` for the licence's price. It cannot
        exceed the charge minus earlier refunds.

        Resources that it names must exist. Licence type, item and requester default to those of the decision or
        licence.
        """
        return self.answer(adjust(self.account_id, self.validated(AdjustmentSerializer)), 201)

    @extend_schema(summary="Get a ledger entry")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())


def render_entries(rows: Iterable[LedgerEntry]) -> list[Rendered]:
    """Render entries, reading the refunds of all of them in one query."""
    entries = list(rows)
    serializer = LedgerEntrySerializer(context={"balances": balances_of(entries)})
    return [serializer.to_representation(entry) for entry in entries]
