"""Endpoints below /v1/policies. Those that try proposed policies are in licensing.drafts.views."""

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.bulk import BulkViewSet
from kit.rest.bulk import outcomes_serializer
from kit.rest.filters import (
    ORDER,
    PREFIX,
    Operand,
    OperatorFilterSet,
    choice,
    identifier,
    integer,
    text,
    timestamp,
)
from kit.rest.resources import require_resource
from licensing.deletion_replies import DeletedSerializer, deletion_response
from licensing.policies import services
from licensing.policies.bulk import PolicyBulk, PolicyBulkOutcomeSerializer, PolicyBulkSerializer
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.modes import MODES
from licensing.policies.rules import Action
from licensing.policies.serializers import PolicyRevisionSerializer, PolicySerializer, RollbackSerializer


class PolicyFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("pol")),
        "externalId": Operand(text, "external_id", PREFIX, optional=True),
        "name": Operand(text),
        "defaultAction": Operand(choice(Action), "default_action"),
        "mode": Operand(choice(MODES)),
        "version": Operand(integer, operators=ORDER),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER, optional=True),
    }


class PolicyViewSet(BulkViewSet[Policy]):
    permissions_required = {
        "list": "policies:read",
        "retrieve": "policies:read",
        "versions": "policies:read",
        "create": "policies:write",
        "partial_update": "policies:write",
        "destroy": "policies:write",
        "rollback": "policies:write",
        "bulk": "policies:write",
    }
    for_secret_keys = frozenset({"versions"})
    listing = frozenset({"list", "versions"})
    tagged = BulkViewSet.tagged | {"rollback"}
    conditional = BulkViewSet.conditional | {"rollback"}
    exportable = {"list": "policies"}
    bulk_class = PolicyBulk
    bulk_serializer = PolicyBulkSerializer
    bulk_name = "policy"
    serializer_class = PolicySerializer
    filterset_class = PolicyFilters
    queryset = Policy.objects.kept()

    def get_object(self) -> Policy:
        id = self.kwargs["id"]
        return require_resource(Policy, id, Policy.objects.find(self.account_id, id))

    @extend_schema(summary="List policies", responses=PolicySerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Newest first."""
        return self.page()

    @extend_schema(summary="Create a policy", responses={201: PolicySerializer})
    def create(self, request: Request) -> HttpResponse:
        """Rules are evaluated by ascending `priority`; the first that matches decides, otherwise `defaultAction`.

        If one of its `tests` fails, the API returns 422 naming it, and stores nothing.
        """
        return self.answer(services.create_policy(self.account_id, self.validated()), 201)

    @extend_schema(
        summary="Create and update policies in bulk",
        request=PolicyBulkSerializer,
        responses=outcomes_serializer("PolicyBulkOutcomes", PolicyBulkOutcomeSerializer(many=True)),
    )
    @action(detail=False, methods=["post"])
    def bulk(self, request: Request) -> Response:
        """1 to 1,000 rows, each processed separately: an error in one does not affect the others.

        A row with `id`, or with the `externalId` of a policy, changes that policy like PATCH, and writes nothing if
        nothing changes. Any other row creates a policy. Rows with an `externalId` can be sent again safely; without
        one, send an `Idempotency-Key`, or the same rows create further policies. Outcomes are in the order of the
        rows, which count as one request towards the plan limit.
        """
        return self.write_bulk()

    @extend_schema(summary="Get a policy")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())

    @extend_schema(summary="Update a policy")
    def partial_update(self, request: Request, id: str) -> HttpResponse:
        """Stores the next `version` and keeps the previous one. `rules` and `tests`, if given, replace the whole list.

        If one of its `tests` fails, the API returns 422 naming it, and stores nothing.
        """
        policy = self.get_object_to_change()
        return self.answer(services.update_policy(policy, self.validated_change(policy)))

    @extend_schema(summary="Delete a policy", responses=DeletedSerializer)
    def destroy(self, request: Request, id: str) -> Response:
        """Returns 409 if content or a site still links to the policy."""
        policy = self.get_object_to_change()
        services.delete_policy(policy)
        return deletion_response(policy, "policy")

    @extend_schema(summary="List a policy's versions", responses=PolicyRevisionSerializer(many=True))
    @action(detail=True, serializer_class=PolicyRevisionSerializer, filterset_class=None)
    def versions(self, request: Request, id: str) -> HttpResponseBase:
        """Versions of the policy, newest first. Takes a secret key."""
        return self.page(PolicyRevision.objects.filter(policy=self.get_object()).select_related("policy"))

    @extend_schema(summary="Roll a policy back", request=RollbackSerializer, responses=PolicySerializer)
    @action(detail=True, methods=["post"])
    def rollback(self, request: Request, id: str) -> HttpResponse:
        """Stores a new version with the content of the given one. Runs its `tests` again."""
        policy = self.get_object_to_change()
        return self.answer(services.rollback_policy(policy, **self.validated(RollbackSerializer)))
