"""Endpoints below /v1/requesters."""

from collections.abc import Callable, Mapping
from functools import partial

from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.plans import epochs
from accounts.viewsets import AccountViewSet
from analytics.usage.subject_usage import requester_stats
from kit.http.errors import NotFound
from kit.rest.filters import EQUALITY, ORDER, PREFIX, Operand, OperatorFilterSet, text, timestamp
from kit.rest.views import Handler
from kit.values.timestamps import render_timestamp
from licensing.customers import erasure, merging
from licensing.deletion_replies import ErasedSerializer
from licensing.requesters import services
from licensing.requesters.models import OWNER, Requester
from licensing.requesters.serializers import (
    MergeSerializer,
    RequesterProfileChangeSerializer,
    RequesterProfileSerializer,
)


class RequesterFilters(OperatorFilterSet):
    operands = {
        "id": Operand(text, "requester_id", PREFIX),
        "name": Operand(text, operators=PREFIX, optional=True),
        "email": Operand(text, operators=EQUALITY, optional=True),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER, optional=True),
    }


class RequesterPathViewSet(AccountViewSet[Requester]):
    """Endpoints at and below a requester's path."""

    queryset = Requester.objects.select_related("merged_into")
    lookup_value_converter = "path"  # publishers' own ids may contain slashes

    def lock_first(self) -> None:
        epochs.lock_epoch(self.account_id)

    def get_queryset(self) -> QuerySet[Requester]:
        return super().get_queryset().alias(owner=OWNER).filter(owner=self.account_id)

    def row_of(self, rows: QuerySet[Requester], id: str) -> Requester:
        is_storable = "\0" not in id
        requester = rows.filter(requester_id=id).first() if is_storable else None
        if requester is None:
            raise NotFound(f"There is no requester {id[:100]!r}.")
        return requester


class RequesterViewSet(RequesterPathViewSet):
    permissions_required = {
        "list": "licenses:read",
        "retrieve": "licenses:read",
        "create": "licenses:write",
        "partial_update": "licenses:write",
        "destroy": "licenses:write",
        "merge": "licenses:write",
    }
    exportable = {"list": "requesters"}
    serializer_class = RequesterProfileSerializer
    filterset_class = RequesterFilters
    after_commit: Callable[[], object] | None = None  # runs after a write is committed

    def answer_with_stats(self, requester: Requester, status: int = 200) -> HttpResponse:
        return self.answer(requester, status, stats=statistics_with_merged(requester))

    @extend_schema(summary="List requesters", responses=RequesterProfileSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Newest first, without `stats`. Checks and licences create the requesters they name."""
        return self.page()

    @extend_schema(summary="Create a requester", responses={201: RequesterProfileSerializer})
    def create(self, request: Request) -> HttpResponse:
        """Register a customer before its first check or licence. An id that is known already is a 409."""
        return self.answer_with_stats(services.create_requester(self.account_id, self.validated()), 201)

    @extend_schema(summary="Get a requester")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        """With `stats`: how often it was allowed and denied, and when it last asked. Encode the id for a URL."""
        return self.answer_with_stats(self.get_object())

    def shown_now(self, resource: Requester) -> Mapping[str, object]:
        return RequesterProfileSerializer(resource, context={"stats": statistics_with_merged(resource)}).data

    @extend_schema(summary="Update a requester", request=RequesterProfileChangeSerializer)
    def partial_update(self, request: Request, id: str) -> HttpResponse:
        """Merge the given fields; null clears one; `metadata` is merged key by key.

        A requester that was merged into another one cannot be changed: that is a 409 that names the other one.
        """
        requester = self.get_object_to_change()
        fields = self.validated_change(requester, RequesterProfileChangeSerializer)
        return self.answer_with_stats(services.update_requester(requester, fields))

    @extend_schema(summary="Erase a requester's personal data", responses=ErasedSerializer)
    def destroy(self, request: Request, id: str) -> Response:
        """Name, e-mail, notes, metadata and the context of decisions are erased, and the id becomes a pseudonym.

        Decisions, totals, licences, wallets and the ledger stay, under the `pseudonym`, which is its `id` from then
        on. When the reply arrives no table, log, event or audit entry has the data. A check of the same id creates a
        new requester.
        """
        erased = erasure.begin_erasure(self.get_object_to_change())
        self.after_commit = partial(erasure.finish_erasure, erased.pk)
        return Response({"id": id, "object": "requester", "deleted": True, "pseudonym": erased.requester_id})

    @extend_schema(
        summary="Merge a requester into another", request=MergeSerializer, responses=RequesterProfileSerializer
    )
    def merge(self, request: Request, id: str) -> HttpResponse:
        """Licences, licence clients, wallets and counts of rules' limits move to `into`, which is returned.

        Checks of the merged id are decided and recorded as that requester's from then on. What was recorded before
        stays under its own id, and is found under both. It cannot be undone; to repeat it changes nothing.
        """
        source = self.get_object()
        target = merging.merge(source, self.validated(MergeSerializer)["into"])
        source.merged_into = target
        self.after_commit = partial(merging.move_late_counts, source)
        return self.answer_with_stats(target)

    def write(self, handler: Handler, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        response = super().write(handler, request, *args, **kwargs)
        if self.after_commit is not None:
            self.after_commit()
        return response


def statistics_with_merged(requester: Requester) -> dict[str, object]:
    """Return statistics of all decisions about the requester and those merged into it."""
    parts = [requester_stats(requester.account_id, number) for number in requester.numbers]
    last_seen = max((part.last_seen_at for part in parts if part.last_seen_at is not None), default=None)
    return {
        "allowed": sum(part.allowed for part in parts),
        "denied": sum(part.denied for part in parts),
        "lastSeenAt": render_timestamp(last_seen),
    }
