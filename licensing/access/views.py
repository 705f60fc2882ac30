"""/v1/access: checks, and the decisions that they left (contract §10)."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_view import AccountListView, AccountView
from accounts.authentication import Caller
from analytics.models import AccessEvent
from kit.http.errors import ApiError
from kit.http.parsing import read_object
from kit.rest.resources import find
from licensing.access.bodies import BatchBody, Check, CheckBody, parse_batch, parse_check
from licensing.access.checks import Answer, check_access
from licensing.access.event_loop.metrics import count_reply
from licensing.access.filters import DecisionFilters
from licensing.access.recorded_decisions import recorded_answers
from licensing.access.rendering import present, present_batch
from licensing.access.serializers import BatchedDecisionSerializer, DecisionSerializer
from licensing.policies.schemas import ONE_SELECTOR, body_schema


class CountedChecks(AccountView):
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().dispatch(request, *args, **kwargs)
        count_reply(response)
        return response

    def check(self, checks: Sequence[Check]) -> list[Answer | ApiError]:
        address = self.request._request.client_address  # type: ignore[attr-defined]
        caller = Caller(self.grant, address, "access:check")
        return check_access(self.account_id, checks, timezone.now(), caller)


class AccessCheck(CountedChecks):
    """Served by licensing.access.event_loop.gateway where it can; here otherwise, by the same steps with fresh
    facts."""

    permissions_required = {"POST": "access:check"}

    @extend_schema(
        summary="Check access",
        request=body_schema(CheckBody, required=["requester"], oneOf=ONE_SELECTOR),
        responses=DecisionSerializer,
    )
    def post(self, request: Request) -> Response:
        """May this requester have this item? Answers 200 for allow and for deny, when the decision is on disk."""
        check = parse_check(read_object(request._request))
        [answer] = self.check([check])
        if isinstance(answer, ApiError):
            raise answer
        return Response(present(answer, explain=check.explain))


class AccessCheckBatch(CountedChecks):
    permissions_required = {"POST": "access:check"}

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
    def post(self, request: Request) -> Response:
        """One request for the plan limit. The decisions come in the order of `checks`."""
        checks = parse_batch(read_object(request._request))
        answers = self.check(checks)
        return Response(present_batch(answers, checks))


class DecisionView(AccountView):
    serializer_class = DecisionSerializer
    queryset = AccessEvent.objects.none()

    def owned(self) -> QuerySet[AccessEvent]:
        return AccessEvent.objects.filter(account_id=self.account_id).select_related("requester")


class Decisions(DecisionView, AccountListView):
    permissions_required = {"GET": "analytics:read"}
    filterset_class = DecisionFilters
    exportable = "decisions"

    @extend_schema(summary="List decisions", responses=DecisionSerializer(many=True))
    def get(self, request: Request) -> HttpResponseBase:
        """Newest first, without their traces."""
        return self.list()

    def shown(self, rows: Any, context: dict[str, Any]) -> Any:
        return [present(answer) for answer in recorded_answers(rows)]


class DecisionById(DecisionView):
    permissions_required = {"GET": "access:check"}

    @extend_schema(summary="Get a decision")
    def get(self, request: Request, id: str) -> Response:  # noqa: A002
        """The decision as it was recorded, with the policy version it was made on and its trace."""
        [answer] = recorded_answers([find(self.owned(), id)])
        return Response(present(answer, explain=True))
