"""/v1/content and /v1/policies (spec §4.1–4.8)."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_view import AccountListView, AccountView
from accounts.permissions import require
from analytics.usage import content_stats
from config.api.resources import find
from licensing import services
from licensing.filters import ContentFilters, PolicyFilters
from licensing.models import Content, Policy, PolicyRevision
from licensing.serializers import (
    ContentSerializer,
    DeletedSerializer,
    PolicyRevisionSerializer,
    PolicySerializer,
    RollbackSerializer,
)

EXPAND = OpenApiParameter(
    "expand", str, enum=["policy"], description="`policy` embeds the linked policy; it takes `policies:read`."
)


def deleted(resource: Content | Policy, kind: str) -> Response:
    return Response({"id": resource.pk, "object": kind, "deleted": True})


class ContentView(AccountView):
    serializer_class = ContentSerializer
    queryset = Content.objects.none()

    def owned(self) -> QuerySet[Content]:
        items = Content.objects.of(self.account_id)
        return items.select_related("policy") if "expand" in self.request.query_params else items

    def expanded(self) -> frozenset[str]:
        """What to embed. A policy is as secret here as at /v1/policies. Raises InsufficientPermissions."""
        expand = self.expansions("policy")
        if expand:
            require(self.grant, "policies:read")
        return expand

    def one(self, item: Content, **context: Any) -> Response:
        context["stats"] = content_stats(item.account_id, item.pk)
        return Response(ContentSerializer(item, context=context).data)


class ContentList(ContentView, AccountListView):
    permissions_required = {"GET": "content:read", "POST": "content:write"}
    query_parameters = frozenset({"expand"})
    filterset_class = ContentFilters

    @extend_schema(summary="List content", parameters=[EXPAND], responses=ContentSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Newest first, without `stats`."""
        return self.list(expand=self.expanded())

    @extend_schema(summary="Create content", responses={201: ContentSerializer})
    def post(self, request: Request) -> Response:
        """Registers an item. Only `title` is required; the item begins as `active`."""
        fields = self.validated()
        fields.pop("status", None)  # the service's to set at creation
        given = {name: value for name, value in fields.items() if value is not None}
        return Response(ContentSerializer(services.create_content(self.account_id, given)).data, status=201)


class ContentById(ContentView):
    permissions_required = {"GET": "content:read", "PATCH": "content:write", "DELETE": "content:write"}
    query_parameters = frozenset({"expand"})

    @extend_schema(summary="Get content", parameters=[EXPAND])
    def get(self, request: Request, id: str) -> Response:  # noqa: A002
        """With `stats`: how often the item was asked for, and what was answered."""
        expand = self.expanded()
        return self.one(find(self.owned(), id), expand=expand)

    @extend_schema(summary="Update content")
    def patch(self, request: Request, id: str) -> Response:  # noqa: A002
        """Merges the fields given; null clears an optional one; `metadata` is merged key by key."""
        item = find(self.owned(), id)
        return self.one(services.update_content(item, self.validated(partial=True)))

    @extend_schema(summary="Delete content", responses=DeletedSerializer)
    def delete(self, request: Request, id: str) -> Response:  # noqa: A002
        """What analytics know of the item stays."""
        item = find(self.owned(), id)
        services.delete_content(item)
        return deleted(item, "content")


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
