"""Endpoints below /v1/access: checks and recorded decisions."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.viewsets import AccountViewSet
from analytics.archive.horizon import horizon_cache
from analytics.models import AccessEvent
from kit.http.errors import NotFound
from kit.rest.filters import OperatorFilter
from kit.rest.lists.counting import CountMode, Total
from kit.rest.lists.mixin import Given
from kit.rest.pagination import KeysetPagination
from kit.rest.resources import pick_fields, requested_fields
from kit.rest.views import Handler
from kit.storage.limited import TookTooLong
from kit.storage.loading import join
from kit.values.json_values import Rendered
from licensing.access.archived.pagination import HistoryPagination, count_archive, count_by_rollups, find_archived
from licensing.access.bodies import POLICIES_READ, BatchBody, CheckBody
from licensing.access.event_loop.in_thread import answer_check
from licensing.access.filters import DecisionFilters
from licensing.access.recorded_decisions import recorded_answers
from licensing.access.rendering import present_recorded, present_refunds
from licensing.access.selected_decisions import SelectedDecisions
from licensing.access.serializers import BatchedDecisionSerializer, DecisionSerializer
from licensing.policies.schemas import body_schema


class AccessViewSet(AccountViewSet):
    """Checks that reach Django. The server answers checks before Django, by the same application."""

    permissions_required = {"check": "access:check", "check_batch": "access:check"}
    cache_control = "no-store"

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if request.method != "POST":
            return super().dispatch(request, *args, **kwargs)
        handler: Handler = getattr(self, request.method.lower())
        response = handler(request)
        request._body = b""  # the view's cycles keep the request until the next garbage collection
        return response

    @extend_schema(
        summary="Check access",
        request=body_schema(CheckBody, required=("requester",)),
        responses=DecisionSerializer,
    )
    @action(detail=False, methods=["post"])
    def check(self, request: HttpRequest) -> HttpResponse:
        """Check whether a requester may access an item. Returns 200 for allow and for deny, once the decision is
        stored.
        """
        return answer_check(request)

    @extend_schema(
        summary="Check access to many items",
        request=body_schema(BatchBody),
        responses=inline_serializer(
            "DecisionBatch",
            {
                "object": serializers.ChoiceField(choices=["list"]),
                "data": BatchedDecisionSerializer(many=True),
                "hasMore": serializers.BooleanField(),
                "totalCount": serializers.IntegerField(),
            },
        ),
    )
    @action(detail=False, methods=["post"], url_path="check/batch")
    def check_batch(self, request: HttpRequest) -> HttpResponse:
        """A batch counts as one request for the plan limit. Decisions come in the order of `checks`."""
        return answer_check(request)


EXPAND = OpenApiParameter(
    "expand", str, enum=["key"], description="`key` adds `keyId`, the API key that made the check."
)


class DecisionViewSet(AccountViewSet[AccessEvent]):
    permissions_required = {"list": "analytics:read", "retrieve": "access:check"}
    tagged = frozenset()
    cache_control = "no-store"
    exportable = {"list": "decisions"}
    serializer_class = DecisionSerializer
    filterset_class = DecisionFilters
    pagination_class = HistoryPagination
    query_parameters = frozenset({"expand"})
    queryset = join(AccessEvent.objects.all(), "requester", "requester_id")

    @extend_schema(summary="List decisions", parameters=[EXPAND], responses=DecisionSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Newest first, without traces."""
        return self.page()

    def filtered(self, rows: QuerySet[AccessEvent]) -> QuerySet[AccessEvent]:
        self.selected = SelectedDecisions.from_query(self.account_id, self.request.query_params)
        return self.selected.filter(rows)

    def apply(self, given: Iterable[Given], rows: QuerySet[AccessEvent]) -> QuerySet[AccessEvent]:
        return self.selected.filter(rows, given)

    def pager(self, every: QuerySet[AccessEvent]) -> KeysetPagination:
        pager = super().pager(every)
        if isinstance(pager, HistoryPagination):
            pager.selected = self.selected
        return pager

    def is_in_order(self, one: OperatorFilter, value: object) -> bool:
        is_merged = one.of == "requesterId" and len(self.selected.numbers_of(value)) > 1
        return super().is_in_order(one, value) and not is_merged

    def row_of(self, rows: QuerySet[AccessEvent], id: str) -> AccessEvent:
        try:
            return super().row_of(rows, id)
        except NotFound:
            if (event := find_archived(self.account_id, id)) is None:
                raise
            return event

    def total(self, rows: QuerySet[AccessEvent], counting: CountMode) -> Total:
        horizon = horizon_cache.current()
        selection = self.selected.counted_by_rollups()
        if selection is not None:
            with suppress(TookTooLong):
                return count_by_rollups(self.selected, selection, horizon, counting.seconds)
        if horizon is None:
            return super().total(rows, counting)
        recent = super().total(rows.filter(created__gte=horizon), counting)
        older = count_archive(self.selected, horizon, counting.seconds)
        return Total(recent.number + older.number, recent.is_exact and older.is_exact)

    def row_renderer(self, context: dict[str, object]) -> Callable[[Iterable[AccessEvent]], Sequence[Rendered]]:
        return partial(render_events, names_key="key" in self.expansions("key"))

    @extend_schema(summary="Get a decision", parameters=[EXPAND])
    def retrieve(self, request: Request, id: str) -> Response:
        """Get a recorded decision with its policy version and the `context` that was sent, and with its trace if the
        key has `policies:read`. `charge` includes what was refunded and what can still be refunded.
        """
        event = self.get_object()
        explain = self.grant.allows(POLICIES_READ)
        [answer] = recorded_answers([event], explained=explain)
        fields = requested_fields(request.query_params, self.serializer_class)
        shown = present_recorded(event, answer, explain=explain, names_key="key" in self.expansions("key"))
        return Response(pick_fields({**shown, "charge": present_refunds(event, answer)}, fields))


def render_events(rows: Iterable[AccessEvent], *, names_key: bool = False) -> list[Rendered]:
    """Render decisions for the list, without traces."""
    events = list(rows)
    return [
        present_recorded(event, answer, names_key=names_key)
        for event, answer in zip(events, recorded_answers(events), strict=True)
    ]
