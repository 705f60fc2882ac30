"""Endpoints under /v1/content."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from django.db.models import Q, QuerySet
from django.db.models.lookups import In
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.bulk import BulkViewSet
from analytics.usage.subject_usage import build_counts, build_stats, content_stats
from kit.rest.bulk import outcomes_serializer
from kit.rest.fields import is_http_url
from kit.rest.filters import (
    ORDER,
    PREFIX,
    Index,
    Operand,
    OperatorFilterSet,
    choice,
    day,
    identifier,
    integer,
    text,
    timestamp,
)
from kit.rest.lists.orders import Order, TextsInOrder
from kit.rest.lists.windows import WindowedPagination
from kit.rest.resources import require_resource
from kit.storage.code_points import by_code_point
from licensing.content import services
from licensing.content.bulk import ContentBulk
from licensing.content.metadata import ATTRIBUTES, Attribute, AttributeKind
from licensing.content.models import Content, Status
from licensing.content.serializers import BulkOutcomeSerializer, BulkSerializer, ContentSerializer
from licensing.content.url_key import source_key
from licensing.deletion_replies import DeletedSerializer, deletion_response
from licensing.policies.facts import ContentType
from licensing.policies.serializers import PolicySerializer


def build_operand(attribute: Attribute) -> Operand:
    if attribute.kind == AttributeKind.TEXT:
        return Operand(text, attribute.column, optional=True)
    return Operand(day if attribute.kind == AttributeKind.DAY else integer, attribute.column, ORDER, optional=True)


def parse_source_key(value: str) -> bytes | None:
    """Return the source key of a URL, or a key that matches no item if the text is not an http(s) URL."""
    return source_key(value) if is_http_url(value) else b""


def title_in(titles: list[str]) -> Q:
    """Return the condition that the title is one of these, compared as in the index of titles."""
    return Q(In(by_code_point("title"), titles))


class ContentFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("cnt"), index=Index.FINDS),
        "type": Operand(choice(ContentType)),
        "status": Operand(choice(Status)),
        "externalId": Operand(text, "external_id", PREFIX, optional=True, index=Index.FINDS),
        "policyId": Operand(identifier("pol"), "policy_id", optional=True),
        "title": Operand(text, operators=PREFIX, any_of=title_in),
        "source": Operand(replace(text, parse=parse_source_key), "source_key", optional=True, index=Index.FINDS),
        "tags": Operand(text, lookup="has", optional=True, absent=[]),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
        **{
            f"metadata.{attribute.name}": build_operand(attribute)
            for attribute in ATTRIBUTES
            if attribute.kind != AttributeKind.TEXTS
        },
    }


EXPAND = OpenApiParameter(
    "expand", str, enum=["policy"], description="`policy` embeds the linked policy; it takes `policies:read`."
)


class ContentPages(WindowedPagination):
    orders = {
        "created": Order("created"),
        "updated": Order("updated"),
        "title": Order("title", TextsInOrder),
    }


class ContentViewSet(BulkViewSet[Content]):
    permissions_required = {
        "list": "content:read",
        "retrieve": "content:read",
        "create": "content:write",
        "partial_update": "content:write",
        "destroy": "content:write",
        "bulk": "content:write",
    }
    exportable = {"list": "content"}
    bulk_class = ContentBulk
    bulk_serializer = BulkSerializer
    bulk_name = "content"
    serializer_class = ContentSerializer
    filterset_class = ContentFilters
    pagination_class = ContentPages
    query_parameters = frozenset({"expand"})
    queryset = Content.objects.kept()

    def get_queryset(self) -> QuerySet[Content]:
        items = super().get_queryset()
        return items.prefetch_related("policy") if "expand" in self.request.query_params else items

    def get_object(self) -> Content:
        id = self.kwargs["id"]
        return require_resource(Content, id, Content.objects.find(self.account_id, id))

    def requested_expansions(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the fields to embed, and the fields of an embedded policy that the key may not see.

        Raises InsufficientPermissions: embedding a policy needs `policies:read`.
        """
        expand = self.expansions("policy")
        if expand:
            self.grant.require("policies:read")
        hidden: frozenset[str] = PolicySerializer.for_secret_keys if self.grant.is_public else frozenset()
        return expand, hidden

    @extend_schema(summary="List content", parameters=[EXPAND], responses=ContentSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Newest first, without `stats`."""
        expand, hidden = self.requested_expansions()
        return self.page(expand=expand, hidden_of_policy=hidden)

    @extend_schema(summary="Create content", responses={201: ContentSerializer})
    def create(self, request: Request) -> HttpResponse:
        """Creates a content item. Only `title` is required. The default `status` is `active`."""
        fields = services.prepare_new_item(self.validated())
        item = services.create_content(self.account_id, fields)
        return self.answer(item, 201)

    @extend_schema(
        summary="Create and update content in bulk",
        request=BulkSerializer,
        responses=outcomes_serializer("BulkOutcomes", BulkOutcomeSerializer(many=True)),
    )
    @action(detail=False, methods=["post"])
    def bulk(self, request: Request) -> Response:
        """Creates or updates 1 to 1,000 items. Each row succeeds or fails on its own.

        A row with an `id`, or with the `externalId` of an existing item, updates that item like PATCH; other rows
        create an item. Outcomes are in the order of the rows. The request counts as one towards the plan's limits.
        """
        return self.write_bulk()

    @extend_schema(summary="Get content", parameters=[EXPAND])
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        """With `stats`: the numbers of allowed and denied access checks for the item."""
        expand, hidden = self.requested_expansions()
        build = partial(build_counts, "content")
        item_and_counts = Content.objects.find_annotated(self.account_id, id, build)
        item, counts = require_resource(Content, id, item_and_counts)
        return self.answer(item, stats=build_stats(*counts), expand=expand, hidden_of_policy=hidden)

    def shown_now(self, resource: Content, **context: object) -> Mapping[str, object]:
        stats = content_stats(self.account_id, resource.pk)
        return ContentSerializer(resource, context={"stats": stats, **context}).data

    def shown_to_change(self, resource: Content) -> Mapping[str, object]:
        return self.shown_now(resource, expand=frozenset({"policy"}))

    @extend_schema(summary="Update content")
    def partial_update(self, request: Request, id: str) -> HttpResponse:
        """Changes the given fields; null clears an optional field. `metadata` is merged key by key."""
        item = self.get_object_to_change()
        item = services.update_content(item, self.validated_change(item))
        return self.answer(item, stats=content_stats(self.account_id, item.pk))

    @extend_schema(summary="Delete content", responses=DeletedSerializer)
    def destroy(self, request: Request, id: str) -> Response:
        """Deletes the item. Its analytics stay."""
        item = self.get_object_to_change()
        services.delete_content(item)
        return deletion_response(item, "content")
