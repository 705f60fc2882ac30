"""Webhook endpoints, deliveries and attempts."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.events.event_types import EXPLICIT_ONLY_TYPES, covers
from accounts.events.models import Event
from kit.values.ids import IdField


class EndpointStatus(models.TextChoices):
    ENABLED = "enabled"
    DISABLED = "disabled"


class WebhookEndpoint(models.Model):
    """A URL that receives an account's events. Its signing secrets and custom headers are stored encrypted."""

    id = IdField("we", primary_key=True)
    account = models.ForeignKey(
        "accounts.Account", on_delete=models.CASCADE, db_index=False, related_name="webhook_endpoints"
    )
    url = models.TextField()
    events = models.JSONField(default=list)  # subscription patterns, see accounts.events.event_types
    description = models.TextField(null=True, blank=True)
    # which decisions it receives, with the API's field names
    access_filter = models.JSONField(null=True, editable=False)
    # up to when decisions were reported; None if it receives none
    access_told_until = models.DateTimeField(null=True, editable=False)
    status = models.CharField(max_length=10, choices=EndpointStatus.choices, default=EndpointStatus.ENABLED)
    disabled_reason = models.CharField(max_length=200, null=True, editable=False)
    secrets = models.BinaryField(editable=False)  # see accounts.webhooks.secrets
    headers = models.BinaryField(null=True, editable=False)
    header_names = models.JSONField(default=list, editable=False)
    failing_since = models.DateTimeField(null=True, editable=False)
    last_failure_at = models.DateTimeField(null=True, editable=False)
    paused_until = models.DateTimeField(null=True, editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)
    updated = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        app_label = "accounts"
        verbose_name = "webhook endpoint"
        indexes = [models.Index(fields=["account", "-created", "-id"], name="endpoints_newest_first")]

    def __str__(self) -> str:
        return self.url[:500]

    def subscribes_to(self, event_type: str) -> bool:
        return any(covers(pattern, event_type) for pattern in self.events)

    @property
    def subscribes_to_access(self) -> bool:
        return any(self.subscribes_to(name) for name in EXPLICIT_ONLY_TYPES)

    def audited(self) -> dict[str, object]:
        return {
            "url": self.url,
            "events": self.events,
            "description": self.description,
            "accessFilter": self.access_filter,
            "status": str(self.status),
            "disabledReason": self.disabled_reason,
            "headerNames": self.header_names,
        }


class DeliveryState(models.TextChoices):
    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class WebhookDelivery(models.Model):
    """The outbox: an event to be delivered to an endpoint.

    `due_at` is when the next attempt may start. A worker sets it to the end of its lease, so that another takes over
    if it dies. A lease ends later than any before it, so its end identifies it.
    """

    event = models.ForeignKey(Event, on_delete=models.CASCADE, db_index=False, related_name="deliveries")
    endpoint = models.ForeignKey(WebhookEndpoint, on_delete=models.CASCADE, db_index=False, related_name="deliveries")
    state = models.CharField(max_length=10, choices=DeliveryState.choices, default=DeliveryState.WAITING)
    attempts = models.PositiveIntegerField(default=0)  # on the schedule
    # a single attempt whose failure does not count against the endpoint
    is_single = models.BooleanField(default=False)
    due_at = models.DateTimeField(null=True)  # None if nothing is due
    delivered_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "accounts"
        verbose_name = "webhook delivery"
        verbose_name_plural = "webhook deliveries"
        constraints = [models.UniqueConstraint(fields=["event", "endpoint"], name="one_delivery_per_endpoint")]
        indexes = [
            models.Index(fields=["endpoint", "due_at"], condition=Q(due_at__isnull=False), name="deliveries_due")
        ]

    def __str__(self) -> str:
        return f"{self.event_id} to {self.endpoint_id}"


class WebhookAttempt(models.Model):
    """One request to an endpoint, and its result."""

    id = IdField("del", primary_key=True)
    endpoint = models.ForeignKey(WebhookEndpoint, on_delete=models.CASCADE, db_index=False, related_name="attempts")
    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    succeeded = models.BooleanField()
    status = models.PositiveIntegerField(null=True)  # HTTP status of the reply; None without a reply
    error = models.TextField(null=True)
    reply = models.TextField()  # beginning of the reply's body
    duration_ms = models.PositiveIntegerField()
    next_attempt_at = models.DateTimeField(null=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        app_label = "accounts"
        verbose_name = "webhook delivery attempt"
        default_permissions = ("view",)
        indexes = [models.Index(fields=["endpoint", "-created", "-id"], name="attempts_newest_first")]

    def __str__(self) -> str:
        return f"{self.event_id} to {self.endpoint_id} ({self.status or self.error})"
