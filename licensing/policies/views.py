"""/v1/policies."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_view import AccountListView, AccountView
from kit.rest.resources import find
from licensing.deletion import DeletedSerializer, deleted
from licensing.policies import services
from licensing.policies.filters import PolicyFilters
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.serializers import PolicyRevisionSerializer, PolicySerializer, RollbackSerializer


class PolicyView(AccountView):
    serializer_class: Any = PolicySerializer
    queryset = Policy.objects.none()

    def owned(self) -> QuerySet[Policy]:
        return Policy.objects.of(self.account_id)


class PolicyList(PolicyView, AccountListView):
    permissions_required = {"GET": "policies:read", "POST": "policies:write"}
    filterset_class = PolicyFilters

    @extend_schema(summary="List policies", responses=PolicySerializer(many=True))
    def get(self, request: Request) -> Response:
        """Newest first."""
        return self.list()

    @extend_schema(summary="Create a policy", responses={201: PolicySerializer})
    def post(self, request: Request) -> Response:
        """Rules are tried by ascending `priority`; the first that matches decides, otherwise `defaultAction`."""
        return Response(PolicySerializer(services.create_policy(self.account_id, self.validated())).data, status=201)


class PolicyById(PolicyView):
    permissions_required = {"GET": "policies:read", "PATCH": "policies:write", "DELETE": "policies:write"}

    @extend_schema(summary="Get a policy")
    def get(self, request: Request, id: str) -> Response:  # noqa: A002
        return Response(PolicySerializer(find(self.owned(), id)).data)

    @extend_schema(summary="Update a policy")
    def patch(self, request: Request, id: str) -> Response:  # noqa: A002
        """Writes the next `version`; `rules`, where given, replace the whole list. The former version is kept."""
        policy = find(self.owned(), id)
        return Response(PolicySerializer(services.update_policy(policy, self.validated(partial=True))).data)

    @extend_schema(summary="Delete a policy", responses=DeletedSerializer)
    def delete(self, request: Request, id: str) -> Response:  # noqa: A002
        """A policy that content still links to is a 409."""
        policy = find(self.owned(), id)
        services.delete_policy(policy)
        return deleted(policy, "policy")


class PolicyVersions(PolicyView, AccountListView):
    permissions_required = {"GET": "policies:read"}
    serializer_class = PolicyRevisionSerializer

    @extend_schema(summary="List a policy's versions", responses=PolicyRevisionSerializer(many=True))
    def get(self, request: Request, id: str) -> Response:  # noqa: A002
        """The policy as it was in each of its versions, newest first."""
        self.policy = find(super().owned(), id)
        return self.list()

    def owned(self) -> Any:
        return PolicyRevision.objects.filter(policy=self.policy).select_related("policy")


class PolicyRollback(PolicyView):
    permissions_required = {"POST": "policies:write"}
    serializer_class = RollbackSerializer

    @extend_schema(summary="Roll a policy back", responses=PolicySerializer)
    def post(self, request: Request, id: str) -> Response:  # noqa: A002
        """Writes a new version that says what the given one said."""
        policy = find(self.owned(), id)
        return Response(PolicySerializer(services.rollback_policy(policy, **self.validated())).data)
