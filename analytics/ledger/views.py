"""/v1/revenue: the append-only ledger, and /v1/refunds, which adds to it."""

from collections.abc import Callable, Iterable, Sequence

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from accounts.viewsets import AccountViewSet
from analytics.ledger.due import book_due
from analytics.ledger.filters import LedgerFilters
from analytics.ledger.refunds import balances_of
from analytics.ledger.serializers import AdjustmentSerializer, LedgerEntrySerializer, RefundSerializer
from analytics.ledger.services import adjust, refund
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
    queryset = join(join(LedgerEntry.objects.all(), "requester", "requester_id", "name"), "content", "title")
    exact_numbers = True

    @extend_schema(summary="List ledger entries", responses=LedgerEntrySerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Licence prices, recurring fees, charged checks and adjustments, newest first."""
        book_due(self.account_id)
        return self.page()

    def row_renderer(self, context: dict[str, object]) -> Callable[[Iterable[LedgerEntry]], Sequence[Rendered]]:
        return render_entries

    @extend_schema(
        summary="Add an adjustment",
        request=AdjustmentSerializer,
        responses={201: LedgerEntrySerializer, 200: LedgerEntrySerializer},
    )
    def create(self, request: Request) -> HttpResponse:
        """Adds a refund, a correction or a sale made elsewhere. Adjustments cannot be changed; correct one with
        another.

        A refund is a negative `amount` with a `decisionId`, with a `feeId`, or with a `licenseId` for the licence's
        price. It cannot exceed the charge minus earlier refunds. `POST /v1/refunds` adds the same entry.

        If the `externalId` is already booked, nothing is written: the reply is 200 with the booked entry, or 409 if
        the body differs.

        Resources that it names must exist. Licence type, item and requester default to those of the decision or
        licence.
        """
        entry, is_new = adjust(self.account_id, self.validated(AdjustmentSerializer))
        return self.answer(entry, 201 if is_new else 200)

    @extend_schema(summary="Get a ledger entry")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())


class RefundViewSet(AccountViewSet[LedgerEntry]):
    permissions_required = {"create": "revenue:write"}
    serializer_class = LedgerEntrySerializer
    queryset = LedgerEntry.objects.all()
    exact_numbers = True

    @extend_schema(
        summary="Refund a charge",
        request=RefundSerializer,
        responses={201: LedgerEntrySerializer, 200: LedgerEntrySerializer},
    )
    def create(self, request: Request) -> HttpResponse:
        """Gives back what was charged for an access, a fee or a licence's price: all that is left, or `amount` of it.

        The reply is the new adjustment in the ledger, whose `amount` is negative. Refunds of accesses that a wallet
        paid return to the wallet.

        If the `externalId` is already booked, nothing is written: the reply is 200 with the booked entry, or 409 if
        the body differs.
        """
        entry, is_new = refund(self.account_id, self.validated(RefundSerializer))
        location = reverse("ledgerentry-detail", args=[entry.pk])
        return self.with_tag(LedgerEntrySerializer(entry).data, 201 if is_new else 200, location=location)


def render_entries(rows: Iterable[LedgerEntry]) -> list[Rendered]:
    """Render entries, reading the refunds of all of them in one query."""
    entries = list(rows)
    serializer = LedgerEntrySerializer(context={"balances": balances_of(entries)})
    return [serializer.to_representation(entry) for entry in entries]
