"""/v1/content."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from accounts.viewsets import AccountViewSet
from analytics.usage.report import content_stats
from licensing.content import services
from licensing.content.filters import ContentFilters
from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer
from licensing.deletion import DeletedSerializer, deleted

EXPAND = OpenApiParameter(
    "expand", str, enum=["policy"], description="`policy` embeds the linked policy; it takes `policies:read`."
)


class ContentViewSet(AccountViewSet):
    permissions_required = {
        "list": "content:read",
        "retrieve": "content:read",
        "create": "content:write",
        "partial_update": "content:write",
        "destroy": "content:write",
    }
    serializer_class = ContentSerializer
    filterset_class = ContentFilters
    query_parameters = frozenset({"expand"})
    queryset = Content.objects.kept()

    def get_queryset(self) -> QuerySet[Content]:
        items = super().get_queryset()
        return items.prefetch_related("policy") if "expand" in self.request.query_params else items

    def expanded(self) -> frozenset[str]:
        """What to embed. A policy is as secret here as at /v1/policies. Raises InsufficientPermissions."""
        expand = self.expansions("policy")
        if expand:
            require(self.grant, "policies:read")
        return expand

    def one(self, item: Content, **context: Any) -> Response:
        return self.answer(item, stats=content_stats(item.account_id, item.pk), **context)

    @extend_schema(summary="List content", parameters=[EXPAND], responses=ContentSerializer(many=True))
    def list(self, request: Request) -> Response:
        """Newest first, without `stats`."""
        return self.page(expand=self.expanded())

    @extend_schema(summary="Create content", responses={201: ContentSerializer})
    def create(self, request: Request) -> Response:
        """Registers an item. Only `title` is required; the item begins as `active`."""
        fields = self.validated()
        fields.pop("status", None)  # the service's to set at creation
        given = {name: value for name, value in fields.items() if value is not None}
        return self.answer(services.create_content(self.account_id, given), 201)

    @extend_schema(summary="Get content", parameters=[EXPAND])
    def retrieve(self, request: Request, id: str) -> Response:
        """With `stats`: how often the item was asked for, and what was answered."""
        expand = self.expanded()
        return self.one(self.get_object(), expand=expand)

    @extend_schema(summary="Update content")
    def partial_update(self, request: Request, id: str) -> Response:
        """Merges the fields given; null clears an optional one; `metadata` is merged key by key."""
        item = self.get_object()
        return self.one(services.update_content(item, self.validated(partial=True)))

    @extend_schema(summary="Delete content", responses=DeletedSerializer)
    def destroy(self, request: Request, id: str) -> Response:
        """What analytics know of the item stays."""
        item = self.get_object()
        services.delete_content(item)
        return deleted(item, "content")
