"""/v1/events."""

import orjson
from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from accounts.events.event_types import TYPES
from accounts.events.models import Event
from accounts.events.serializers import EventSerializer
from accounts.history.people import with_references
from accounts.viewsets import AccountViewSet
from accounts.webhooks import services
from accounts.webhooks.models import WebhookEndpoint
from accounts.webhooks.serializers import RedeliverySerializer
from accounts.webhooks.services import readable_types, require_read_permissions
from kit.http.errors import NotFound, ValidationFailed
from kit.rest.filters import ORDER, Index, Operand, OperatorFilterSet, choice, text, timestamp
from kit.rest.lists.windows import WindowedPagination
from kit.rest.resources import find, require_resource


class EventFilters(OperatorFilterSet):
    operands = {
        "type": Operand(choice(event_type.name for event_type in TYPES), index=Index.SORTS),
        "objectId": Operand(text, "object_id", any_of=with_references("object_id"), index=Index.SORTS),
        "created": Operand(timestamp, operators=ORDER),
    }


class EventViewSet(AccountViewSet[Event]):
    permissions_required = dict.fromkeys(("list", "retrieve", "redeliver"), "webhooks:manage")
    exportable = {"list": "events"}
    serializer_class = EventSerializer
    filterset_class = EventFilters
    pagination_class = WindowedPagination
    queryset = Event.objects.all()

    def get_queryset(self) -> QuerySet[Event]:
        """Return the events about objects that the key may read."""
        events = super().get_queryset()
        visible = readable_types(self.grant)
        return events if len(visible) == len(TYPES) else events.filter(type__in=visible)

    def check_replay(self, reply: bytes) -> None:
        event = orjson.loads(reply)
        is_readable = event["type"] in readable_types(self.grant)
        require_resource(Event, event["id"], event if is_readable else None)

    @extend_schema(summary="List events", responses=EventSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """What happened to the account's resources in the last 30 days, newest first.

        Only events about objects that the key may read: those of licences also need `licenses:read`, for example.

        An event is listed once its transaction has ended, which can be after events with a later `created`. To read
        only new events and lose none, begin 10 minutes before the newest one that you have, and skip the ids that you
        know.
        """
        return self.page()

    @extend_schema(summary="Get an event")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())

    @extend_schema(summary="Deliver an event once more", request=RedeliverySerializer, responses=EventSerializer)
    @action(detail=True, methods=["post"])
    def redeliver(self, request: Request, id: str) -> HttpResponse:
        """Makes one attempt at once with the same event id, even if the endpoint already received the event, does not
        subscribe to it or is disabled. The key needs the permissions to read everything that the endpoint receives.
        """
        event = self.get_object()
        webhook_id = self.validated(RedeliverySerializer)["webhookId"]
        endpoints = WebhookEndpoint.objects.filter(account_id=self.account_id)
        try:
            endpoint = find(endpoints, webhook_id)
        except NotFound as error:
            raise ValidationFailed(error.message, param="webhookId") from None
        require_read_permissions(self.grant, endpoint.events)
        services.redeliver(event, endpoint)
        return self.answer(event)
