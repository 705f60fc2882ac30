"""Endpoints below /v1/access: checks and recorded decisions."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import license_token
from accounts.keys.callers import Caller
from accounts.keys.permissions import allows
from accounts.viewsets import AccountViewSet
from analytics.archive.horizon import remembered
from analytics.models import AccessEvent
from kit.http.errors import ApiError, NotFound, ServiceUnavailable
from kit.http.middleware import client_address_of
from kit.http.parsing import read_object
from kit.rest.filters import OperatorFilter
from kit.rest.lists.counting import CountMode, Total
from kit.rest.lists.mixin import Given
from kit.rest.pagination import KeysetPagination
from kit.rest.sparse import pick_fields, requested_fields
from kit.storage.limited import TookTooLong
from kit.storage.loading import join
from kit.values.json_values import Rendered
from licensing.access.answers import Answer
from licensing.access.bodies import (
    POLICIES_READ,
    BatchBody,
    CheckBody,
    parse_batch,
    parse_check,
    require_policy_access,
)
from licensing.access.check_values import Check
from licensing.access.checks import check_access
from licensing.access.event_loop.metrics import count_checks_in_thread
from licensing.access.event_loop.outcomes import outcomes_of
from licensing.access.filters import DecisionFilters
from licensing.access.history.lists import HistoryPagination, count_archive, count_by_rollups, find_archived
from licensing.access.recorded_decisions import recorded_answers
from licensing.access.rendering import Sign, present_batch, present_check, present_recorded, present_refunds
from licensing.access.selected_decisions import SelectedDecisions
from licensing.access.serializers import BatchedDecisionSerializer, DecisionSerializer
from licensing.access.tokens.license_tokens import attach_license, verify_now
from licensing.access.tokens.signing import current_signer
from licensing.access.tokens.unsigned import decidable, with_unsigned
from licensing.policies.schemas import body_schema


class AccessViewSet(AccountViewSet):
    """Checks that the event loop does not serve. Same steps as licensing.access.event_loop.gateway, on facts read from
    the database.
    """

    permissions_required = {"check": "access:check", "check_batch": "access:check"}
    cache_control = "no-store"
    may_be_compressed = False  # as on the event loop

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        self.outcomes: list[str] = []  # empty for a replay, which decides nothing
        response = super().dispatch(request, *args, **kwargs)
        if response.status_code in (200, 404):  # the decisions are committed
            count_checks_in_thread(self.outcomes)
        return response

    async def read_body(self) -> None:
        await super().read_body()
        require_policy_access(self.grant, read_object(self.request._request))  # also for a replay

    def checks_of(self, parse: Callable[..., list[Check]]) -> list[Check]:
        """Parse the body, with the licence token sent in the header. Raises ApiError."""
        fields = read_object(self.request._request)
        token = license_token(self.request.META.get("HTTP_AUTHORIZATION", ""))
        if token is None:
            return parse(fields)
        claims = verify_now(token, self.account_id, timezone.now())
        return attach_license(parse(fields, requester=claims.sub), claims)

    def decide(self, checks: Sequence[Check]) -> list[Answer | ApiError]:
        caller = Caller(self.grant, client_address_of(self.request._request), "access:check")
        answers = check_access(self.account_id, checks, timezone.now(), caller)
        self.outcomes = outcomes_of(answers)
        return answers

    def sign(self) -> Sign:
        """Return the function that signs decisions. Raises ServiceUnavailable."""
        request = self.request._request
        return current_signer().at(f"{request.scheme}://{request.get_host()}")

    @extend_schema(
        summary="Check access",
        request=body_schema(CheckBody, required=("requester",)),
        responses=DecisionSerializer,
    )
    @action(detail=False, methods=["post"])
    def check(self, request: Request) -> Response:
        """Check whether a requester may access an item. Returns 200 for allow and for deny, once the decision is
        stored.
        """
        [check] = self.checks_of(lambda fields, **known: [parse_check(fields, **known)])
        sign = self.sign() if check.sign else None
        [answer] = self.decide([check])
        if isinstance(answer, ApiError):
            raise answer
        return Response(present_check(answer, check, sign))

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
    def check_batch(self, request: Request) -> Response:
        """A batch counts as one request for the plan limit. Decisions come in the order of `checks`."""
        checks = self.checks_of(parse_batch)
        sign, error = None, None
        if any(check.sign for check in checks):
            try:
                sign = self.sign()
            except ServiceUnavailable as unreadable:
                error = unreadable
        if error is None:
            answers: Sequence[Answer | ApiError] = self.decide(checks)
        else:
            answers = with_unsigned(self.decide(decidable(checks, error)), checks, error)
        return Response(present_batch(answers, checks, sign))


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
        horizon = remembered.current()
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
        explain = allows(self.grant.permissions, POLICIES_READ)
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
