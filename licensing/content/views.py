"""/v1/content."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_view import AccountListView, AccountView
from accounts.permissions import require
from analytics.usage.report import content_stats
from kit.rest.resources import find
from licensing.content import services
from licensing.content.filters import ContentFilters
from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer
from licensing.deletion import DeletedSerializer, deleted

EXPAND = OpenApiParameter(
    "expand", str, enum=["policy"], description="`policy` embeds the linked policy; it takes `policies:read`."
)


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
