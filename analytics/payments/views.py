"""Endpoints below /v1/payments."""

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from accounts.viewsets import AccountViewSet
from analytics.ledger.filters import CURRENCY
from analytics.payments.models import Payment, PaymentKind
from analytics.payments.serializers import PaymentSerializer, VoidSerializer
from analytics.payments.services import record_payment, void_payment
from kit.rest.filters import ORDER, PREFIX, Operand, OperatorFilterSet, choice, text, timestamp


class PaymentFilters(OperatorFilterSet):
    operands = {
        "requesterId": Operand(text, "requester__requester_id"),
        "kind": Operand(choice(PaymentKind)),
        "currency": Operand(CURRENCY),
        "externalId": Operand(text, "external_id", PREFIX, optional=True),
        "receivedAt": Operand(timestamp, "received_at", ORDER),
        "created": Operand(timestamp, operators=ORDER),
    }


class PaymentViewSet(AccountViewSet[Payment]):
    permissions_required = {
        "list": "revenue:read",
        "retrieve": "revenue:read",
        "create": "revenue:write",
        "void": "revenue:write",
    }
    tagged = frozenset({"create", "retrieve", "void"})
    exportable = {"list": "payments"}
    serializer_class = PaymentSerializer
    filterset_class = PaymentFilters
    queryset = Payment.objects.filter(reverses=None).select_related("requester")
    exact_numbers = True

    @extend_schema(summary="List payments", responses=PaymentSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Newest first."""
        return self.page()

    @extend_schema(summary="Record a payment", responses={201: PaymentSerializer, 200: PaymentSerializer})
    def create(self, request: Request) -> HttpResponse:
        """Record money that a requester paid, which reduces what it owes on its statements. A `payout` is money given
        back, which raises it.

        A payment adds nothing to a wallet: grant the credit that was paid for. If the `externalId` is already
        recorded, nothing is written: the reply is 200 with the recorded payment, or 409 if the body differs.
        """
        payment, is_new = record_payment(self.account_id, self.validated())
        return self.answer(payment, 201 if is_new else 200)

    @extend_schema(summary="Get a payment")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())

    @extend_schema(summary="Void a payment", request=VoidSerializer, responses=PaymentSerializer)
    @action(detail=True, methods=["post"])
    def void(self, request: Request, id: str) -> HttpResponse:
        """Take a payment or payout back that was recorded by mistake or returned. It stays listed.

        Statements count the void in its own month, so closed ones do not change. What a grant added to a wallet stays:
        void the grant, too.
        """
        fields = self.validated(VoidSerializer)
        return self.answer(void_payment(self.get_object(), fields["reason"]))
