"""/v1/wallets: prepaid credit and quotas."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

import orjson
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.plans import epochs
from accounts.viewsets import AccountViewSet
from analytics.ledger.filters import UNIT
from analytics.wallets import services
from analytics.wallets.models import Grant, GrantKind, Wallet, WalletEntry
from analytics.wallets.serializers import (
    CreditAccessSerializer,
    GrantSerializer,
    WalletChangeSerializer,
    WalletEntrySerializer,
    WalletSerializer,
    with_prices,
)
from analytics.wallets.stored_books import as_of, grants_as_of, settle
from analytics.wallets.units import ACCESS
from kit.http.errors import InvalidRequest, NotFound
from kit.rest.filters import ORDER, Operand, OperatorFilterSet, identifier, text, timestamp
from kit.rest.money import decimal_text
from kit.rest.resources import find
from kit.values import ids
from kit.values.decimals import MILLIONTH, parse_amount
from kit.values.json_values import Rendered


class WalletFilters(OperatorFilterSet):
    operands = {
        "requesterId": Operand(text, "requester__requester_id"),
        "licenseId": Operand(identifier("lic"), "license_id", optional=True),
        "unit": Operand(UNIT),
        "created": Operand(timestamp, operators=ORDER),
    }


READS = ("list", "retrieve", "grants", "get_grant", "entries", "access")
WRITES = ("create", "partial_update", "add_grant", "void")


class WalletViewSet(AccountViewSet[Wallet]):
    permissions_required = {**dict.fromkeys(READS, "licenses:read"), **dict.fromkeys(WRITES, "licenses:write")}
    listing = frozenset({"list", "grants", "entries"})
    exportable = {"list": "wallets", "grants": "grants", "entries": "wallet-entries"}
    tagged = frozenset({"create", "retrieve", "partial_update", "add_grant", "get_grant"})
    serializer_class = WalletSerializer
    filterset_class = WalletFilters
    queryset = Wallet.objects.select_related("requester")
    exact_numbers = True
    path_models = {"grant_id": Grant}

    def lock_first(self) -> None:
        epochs.lock_epoch(self.account_id)  # a merge holds it too: the row is read with its requester

    def check_replay(self, reply: bytes) -> None:
        if self.action == "add_grant" and orjson.loads(reply)["paid"] is not None:
            self.grant.require("revenue:write")

    def row_renderer(self, context: dict[str, object]) -> Callable[[Iterable[Any]], Sequence[Rendered]]:
        if self.action == "grants":
            return partial(render_grants, self.wallet)
        return render_wallets if self.action == "list" else super().row_renderer(context)

    def known_parameters(self) -> frozenset[str]:
        return super().known_parameters() | ({"amount"} if self.action == "access" else frozenset())

    def one(self, wallet: Wallet, status: int = 200) -> HttpResponse:
        [book] = as_of([wallet], timezone.now())
        return self.answer(book.wallet, status)

    @extend_schema(summary="List wallets", responses=WalletSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Newest first, with current balances."""
        return self.page()

    @extend_schema(summary="Create a wallet", responses={201: WalletSerializer})
    def create(self, request: Request) -> HttpResponse:
        """Prepaid credit of a requester or of one of its licences, in a currency or in accesses.

        It is empty until something is granted. A second wallet of the same requester, licence and unit is a 409.
        """
        return self.one(services.create_wallet(self.account_id, self.validated()), 201)

    @extend_schema(summary="Get a wallet")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.one(self.get_object())

    def shown_now(self, resource: Wallet) -> Mapping[str, object]:
        [book] = as_of([copy(resource)], timezone.now())
        return WalletSerializer(book.wallet).data

    @extend_schema(summary="Update a wallet", request=WalletChangeSerializer)
    def partial_update(self, request: Request, id: str) -> HttpResponse:
        """Change `floor`, `thresholds` or `refill`; null ends the refills. Neither changes the balance."""
        wallet = self.get_object_to_change()
        fields = self.validated_change(wallet, WalletChangeSerializer)
        return self.one(services.update_wallet(wallet, fields))

    @extend_schema(summary="List a wallet's grants", responses=GrantSerializer(many=True))
    @action(detail=True, serializer_class=GrantSerializer, filterset_class=None)
    def grants(self, request: Request, id: str) -> HttpResponseBase:
        """Newest first, each with what is left of it now."""
        return self.page(with_prices(Grant.objects.filter(wallet=self.wallet)))

    @extend_schema(
        summary="Grant credit", request=GrantSerializer, responses={201: GrantSerializer, 200: GrantSerializer}
    )
    @grants.mapping.post
    def add_grant(self, request: Request, id: str) -> HttpResponse:
        """Add credit: paid or promotional, from now or `effectiveAt` on, until `expiresAt` if given.

        `paid` says what was paid for it, and records that as a payment in the same transaction. Statements show it as
        `paidForCredit`; it does not reduce what is owed. It needs `revenue:write`, too.

        An `externalId` that the wallet knows adds nothing: the reply is 200 with the existing grant.
        """
        fields = {"kind": GrantKind.PAID.value, **self.validated(GrantSerializer)}
        if fields.get("paid") is not None:
            self.grant.require("revenue:write")
        grant, is_new = services.add_grant(self.wallet, fields)
        location = reverse("wallet-get-grant", args=[id, grant.pk])
        return self.with_tag(GrantSerializer(grant).data, 201 if is_new else 200, location=location)

    @extend_schema(summary="Get a grant", responses=GrantSerializer)
    @action(detail=True, url_path="grants/<str:grant_id>", serializer_class=GrantSerializer, filterset_class=None)
    def get_grant(self, request: Request, id: str, grant_id: str) -> HttpResponse:
        grant = find(with_prices(Grant.objects.filter(wallet=self.wallet)), grant_id)
        [rendered] = render_grants(self.wallet, [grant])
        return self.with_tag(rendered, 200)

    @extend_schema(summary="Void a grant", request=None, responses=GrantSerializer)
    @action(detail=True, methods=["post"], url_path="grants/<str:grant_id>/void", serializer_class=GrantSerializer)
    def void(self, request: Request, id: str, grant_id: str) -> Response:
        """Take back what is left of a grant. What was spent of it stays spent."""
        wallet = self.wallet
        grant = services.void_grant(wallet, grant_id) if ids.decode("grt", grant_id) is not None else None
        if grant is None:
            raise NotFound(f"There is no grant {grant_id[:100]!r}.")
        return Response(GrantSerializer(grant).data)

    @extend_schema(summary="List a wallet's entries", responses=WalletEntrySerializer(many=True))
    @action(detail=True, serializer_class=WalletEntrySerializer, filterset_class=None)
    def entries(self, request: Request, id: str) -> HttpResponseBase:
        """Every change of the balance up to now, newest first."""
        settle(self.wallet)
        return self.page(WalletEntry.objects.filter(wallet=self.wallet))

    @extend_schema(
        summary="Ask whether a wallet could pay",
        responses=CreditAccessSerializer,
        parameters=[
            OpenApiParameter(
                "amount", decimal_text(), description="The amount; by default the least one: 1 access, or 0.000001."
            )
        ],
    )
    @action(detail=True, serializer_class=CreditAccessSerializer, filterset_class=None)
    def access(self, request: Request, id: str) -> Response:
        """Nothing is spent or reserved."""
        wallet = self.get_object()
        least = 1 if wallet.unit == ACCESS else MILLIONTH
        try:
            amount = parse_amount(request.query_params.get("amount", least))
        except ValueError as error:
            raise InvalidRequest(str(error), param="amount") from None
        if amount < 0:
            raise InvalidRequest("Must be at least 0.", param="amount")
        [book] = as_of([wallet], timezone.now())
        return Response(CreditAccessSerializer(book.wallet, context={"amount": Decimal(amount)}).data)

    @cached_property
    def wallet(self) -> Wallet:
        return self.get_object()


def render_wallets(rows: Iterable[Wallet]) -> list[Rendered]:
    """Wallets of one page with their balances of now, by one query at most."""
    serializer = WalletSerializer()
    return [serializer.to_representation(book.wallet) for book in as_of(rows, timezone.now())]


def render_grants(wallet: Wallet, rows: Iterable[Grant]) -> list[Rendered]:
    """Render grants `with_prices` with their current rest."""
    serializer = GrantSerializer()
    return [serializer.to_representation(grant) for grant in grants_as_of(wallet, rows, timezone.now())]
