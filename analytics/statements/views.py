"""Endpoints below /v1/statements. All are read-only."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import cached_property
from typing import Any

from django.db.models import Model
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from accounts.viewsets import AccountViewSet
from analytics.ledger.due import book_due
from analytics.ledger.filters import UNIT
from analytics.models import ClosedStatement, Statement
from analytics.models.statements import HOLDER, StatementFigures, requester_of
from analytics.statements.lines import lines_of, month_bounds, payments_of
from analytics.statements.serializers import StatementLineSerializer, StatementPaymentSerializer, StatementSerializer
from kit.http.errors import NotFound
from kit.rest.filters import ORDER, Operand, OperatorFilterSet, ParameterKind, text
from kit.rest.lists.orders import Days, Order
from kit.rest.pagination import KeysetPagination
from kit.rest.resources import find
from kit.values.json_values import Rendered

IS_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])").fullmatch


def parse_month(value: str) -> date:
    """Return the first day of a month such as 2026-01. Raises ValueError."""
    if not IS_MONTH(value) or value.startswith("0000"):
        raise ValueError("Must be a month such as 2026-01.")
    return date.fromisoformat(f"{value}-01")


def parse_status(value: str) -> bool:
    """Return whether `closed_at` is null for this status. Raises ValueError."""
    if value not in ("open", "closed"):
        raise ValueError("Must be one of: open, closed.")
    return value == "open"


MONTH = ParameterKind(parse_month, {"type": "string", "pattern": "^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])$"})
STATUS = ParameterKind(parse_status, {"type": "string", "enum": ["open", "closed"]})


class StatementFilters(OperatorFilterSet):
    operands = {
        "requesterId": Operand(text, "requester__requester_id", optional=True),
        "month": Operand(MONTH, operators=ORDER),
        "currency": Operand(UNIT),
        "status": Operand(STATUS, "closed_at", lookup="isnull"),
    }


class LatestMonthFirst(KeysetPagination):
    orders = {"created": Order("month", Days)}


class StatementViewSet(AccountViewSet):
    permissions_required = dict.fromkeys(("list", "retrieve", "lines", "payments"), "revenue:read")
    listing = frozenset({"list", "lines", "payments"})
    exportable = {"list": "statements", "lines": "statement", "payments": "statement-payments"}
    heavy = frozenset({"list", "retrieve", "lines", "payments"})
    serializer_class: Any = StatementSerializer
    filterset_class: Any = StatementFilters
    pagination_class: Any = LatestMonthFirst
    queryset = Statement.objects.select_related("requester", "account").prefetch_related(HOLDER)

    def get_object(self) -> Any:
        """Return the statement: a closed one from its table, an open one as the sum of its requester's entries."""
        if self.action != "payments":
            book_due(self.account_id)
        id = self.kwargs["id"]
        closed = ClosedStatement.objects.filter(account=self.account_id).select_related("requester", "account")
        try:
            return find(closed, id)
        except NotFound:  # its month is not closed
            return find(self.get_queryset().filter(requester=requester_of(id)), id)

    @extend_schema(summary="List statements", responses=StatementSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """One per requester, month and currency with ledger entries; the latest month first.

        A month is closed an hour after its end. Until then its statements are `open` and change with the ledger.
        """
        book_due(self.account_id)
        return self.page()

    @extend_schema(summary="Get a statement")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        """Returns the figures. A statement keeps its id when its month is closed."""
        return self.answer(self.get_object())

    @extend_schema(summary="List a statement's lines", responses=StatementLineSerializer(many=True))
    @action(
        detail=True, serializer_class=StatementLineSerializer, filterset_class=None, pagination_class=KeysetPagination
    )
    def lines(self, request: Request, id: str) -> HttpResponseBase:
        """Licence prices, fees and adjustments individually, charged checks by licence and item; the latest first."""
        # Not from the replica: lines change their table when the month is closed.
        return self.page(lines_of(self.get_object()), may_lag=False)

    @extend_schema(summary="List a statement's payments", responses=StatementPaymentSerializer(many=True))
    @action(
        detail=True,
        serializer_class=StatementPaymentSerializer,
        filterset_class=None,
        pagination_class=KeysetPagination,
    )
    def payments(self, request: Request, id: str) -> HttpResponseBase:
        """Payments, payouts and voids that the statement counts, each with its date; the latest first."""
        return self.page(payments_of(self.statement), may_lag=False)

    def row_renderer(self, context: dict[str, object]) -> Callable[[Iterable[Model]], Sequence[Rendered]]:
        if self.action == "payments":
            context = {**context, "month": month_bounds(self.statement)}
        return super().row_renderer(context)

    @cached_property
    def statement(self) -> StatementFigures:
        return self.get_object()
