"""/v1/access: checks, and the decisions that they left."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import Caller
from accounts.viewsets import AccountViewSet
from analytics.models import AccessEvent
from kit.http.errors import ApiError
from kit.http.parsing import read_object
from licensing.access.bodies import BatchBody, Check, CheckBody, parse_batch, parse_check
from licensing.access.checks import check_access
from licensing.access.decisions import Answer
from licensing.access.event_loop.metrics import count_reply
from licensing.access.filters import DecisionFilters
from licensing.access.recorded_decisions import recorded_answers
from licensing.access.rendering import present, present_batch
from licensing.access.serializers import BatchedDecisionSerializer, DecisionSerializer
from licensing.policies.schemas import ONE_SELECTOR, body_schema


class AccessViewSet(AccountViewSet):
    """Checks that licensing.access.event_loop.gateway does not serve, by the same steps with fresh facts."""

    permissions_required = {"check": "access:check", "check_batch": "access:check"}

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().dispatch(request, *args, **kwargs)
        count_reply(response)
        return response

    def decide(self, checks: Sequence[Check]) -> list[Answer | ApiError]:
        address = self.request._request.client_address  # type: ignore[attr-defined]
        caller = Caller(self.grant, address, "access:check")
        return check_access(self.account_id, checks, timezone.now(), caller)

    @extend_schema(
        summary="Check access",
        request=body_schema(CheckBody, required=["requester"], oneOf=ONE_SELECTOR),
        responses=DecisionSerializer,
    )
    @action(detail=False, methods=["post"])
    def check(self, request: Request) -> Response:
        """May this requester have this item? Answers 200 for allow and for deny, when the decision is on disk."""
        check = parse_check(read_object(request._request))
        [answer] = self.decide([check])
        if isinstance(answer, ApiError):
            raise answer
        return Response(present(answer, explain=check.explain))

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
        """One request for the plan limit. The decisions come in the order of `checks`."""
        checks = parse_batch(read_object(request._request))
        return Response(present_batch(self.decide(checks), checks))


class DecisionViewSet(AccountViewSet):
    permissions_required = {"list": "analytics:read", "retrieve": "access:check"}
    exportable = {"list": "decisions"}
    serializer_class = DecisionSerializer
    filterset_class = DecisionFilters
    queryset = AccessEvent.objects.select_related("requester")

    @extend_schema(summary="List decisions", responses=DecisionSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Newest first, without their traces."""
        return self.page()

    def shown(self, rows: Any, context: dict[str, Any]) -> Any:
        return [present(answer) for answer in recorded_answers(rows)]

    @extend_schema(summary="Get a decision")
    def retrieve(self, request: Request, id: str) -> Response:
        """The decision as it was recorded, with the policy version it was made on and its trace."""
        [answer] = recorded_answers([self.get_object()])
        return Response(present(answer, explain=True))
