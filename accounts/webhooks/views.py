"""/v1/webhooks."""

import orjson
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.events.serializers import EventSerializer
from accounts.viewsets import AccountViewSet
from accounts.webhooks import recovery, secrets, services
from accounts.webhooks.models import WebhookAttempt, WebhookEndpoint
from accounts.webhooks.recovery_serializers import RecoveredSerializer, RecoverySerializer
from accounts.webhooks.serializers import (
    DeletedEndpointSerializer,
    EmptySerializer,
    SecretSerializer,
    WebhookAttemptSerializer,
    WebhookEndpointSerializer,
)
from accounts.webhooks.services import require_read_permissions
from kit.rest.filters import ORDER, Operand, OperatorFilterSet, boolean, identifier, timestamp


class AttemptFilters(OperatorFilterSet):
    operands = {
        "eventId": Operand(identifier("evt"), "event_id"),
        "succeeded": Operand(boolean),
        "created": Operand(timestamp, operators=ORDER),
    }


class WebhookViewSet(AccountViewSet[WebhookEndpoint]):
    permissions_required = dict.fromkeys(
        ("list", "retrieve", "create", "partial_update", "destroy", "rotate", "ping", "deliveries", "recover"),
        "webhooks:manage",
    )
    listing = frozenset({"list", "deliveries"})
    serializer_class = WebhookEndpointSerializer
    queryset = WebhookEndpoint.objects.all()
    cache_control = "no-store"  # first replies and replays may contain a secret

    def was_shown(self, resource: WebhookEndpoint, value: object) -> bool:
        return value in [secret.text for secret in secrets.readable_secrets(resource.secrets, timezone.now())]

    def check_replay(self, reply: bytes) -> None:
        if self.action == "create":
            require_read_permissions(self.grant, orjson.loads(reply)["events"])

    @extend_schema(summary="List webhook endpoints", responses=WebhookEndpointSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Newest first, without their secrets."""
        return self.page()

    @extend_schema(summary="Create a webhook endpoint", responses={201: SecretSerializer})
    def create(self, request: Request) -> HttpResponse:
        """The reply holds the `secret` that signs the deliveries. Keep it: it cannot be shown again.

        The key needs the permissions to read everything that the endpoint receives: `events` with `license.*` also
        takes `licenses:read`, for example.
        """
        fields = {"events": ["*"], **self.validated()}
        require_read_permissions(self.grant, fields["events"])
        endpoint, secret = services.create_endpoint(self.account_id, fields)
        return self.answer(endpoint, 201, once={"secret": secret})

    @extend_schema(summary="Get a webhook endpoint")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())

    @extend_schema(summary="Update a webhook endpoint")
    def partial_update(self, request: Request, id: str) -> HttpResponse:
        """`events` and `headers`, if given, are replaced as a whole.

        Disabling an endpoint drops its queued deliveries; `recover` can restore them. To change `url` or `events`, the
        key needs the permissions to read everything that the endpoint receives before and after the change.
        """
        endpoint = self.get_object_to_change()
        fields = self.validated_change(endpoint)
        events = fields.get("events", endpoint.events)
        if events != endpoint.events or fields.get("url", endpoint.url) != endpoint.url:
            # The former events count, too: their deliveries may wait for a retry.
            require_read_permissions(self.grant, [*endpoint.events, *events])
        return self.answer(services.update_endpoint(endpoint, fields))

    @extend_schema(summary="Delete a webhook endpoint", responses=DeletedEndpointSerializer)
    def destroy(self, request: Request, id: str) -> Response:
        """Also deletes its deliveries. The events remain."""
        endpoint = self.get_object_to_change()
        services.delete_endpoint(endpoint)
        return Response({"id": endpoint.pk, "object": "webhook_endpoint", "deleted": True})

    @extend_schema(summary="Rotate a webhook endpoint's secret", request=None, responses=SecretSerializer)
    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, id: str) -> HttpResponse:
        """The reply holds the new `secret`. For 24 hours deliveries are signed with the former one, too."""
        endpoint = self.get_object()
        self.check_empty()
        endpoint, secret = services.rotate_secret(endpoint)
        return self.answer(endpoint, once={"secret": secret})

    @extend_schema(summary="Ping a webhook endpoint", request=None, responses=EventSerializer)
    @action(detail=True, methods=["post"])
    def ping(self, request: Request, id: str) -> Response:
        """Delivers an event of type `ping`: one attempt, even if the endpoint is disabled."""
        endpoint = self.get_object()
        self.check_empty()
        return Response(EventSerializer(services.ping(endpoint)).data)

    @extend_schema(summary="List a webhook endpoint's deliveries", responses=WebhookAttemptSerializer(many=True))
    @action(detail=True, serializer_class=WebhookAttemptSerializer, filterset_class=AttemptFilters)
    def deliveries(self, request: Request, id: str) -> HttpResponseBase:
        """Each attempt, newest first, with its reply and the time of the next one."""
        attempts = WebhookAttempt.objects.filter(endpoint=self.get_object()).select_related("event")
        return self.page(attempts.defer("event__data", "event__previous"))

    @extend_schema(
        summary="Recover a webhook endpoint's events", request=RecoverySerializer, responses=RecoveredSerializer
    )
    @action(detail=True, methods=["post"])
    def recover(self, request: Request, id: str) -> Response:
        """Sends deliveries that failed or wait for a retry now, with the whole retry schedule.

        With `since`, sends every event since then that the endpoint did not receive, including events that were never
        queued for it, for instance while it was disabled. The key needs the permissions to read everything that the
        endpoint receives.
        """
        endpoint = self.get_object()
        require_read_permissions(self.grant, endpoint.events)
        fields = self.validated(RecoverySerializer)
        since = fields.get("since")
        if fields.get("dryRun"):
            result = recovery.preview(endpoint, since)
        else:
            result = recovery.recover(endpoint, since)
        return Response(RecoveredSerializer(result).data)

    def check_empty(self) -> None:
        if self.request._request.body:
            self.validated(EmptySerializer)
