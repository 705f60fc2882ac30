"""Stored events."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from kit.storage.loading import QuicklyLoaded
from kit.values.ids import AnyIdField, IdField


class Event(QuicklyLoaded, models.Model):
    """A change with its resource as the API showed it.

    Written with the change, never modified, deleted after the retention period.
    """

    searched_by: ClassVar[tuple[str, ...]] = ("/v1/events?objectId=",)

    id = IdField("evt", primary_key=True)
    account = models.ForeignKey("accounts.Account", on_delete=models.CASCADE, db_index=False, related_name="events")
    type = models.CharField(max_length=60)
    object_id = AnyIdField()
    data = models.TextField()  # JSON, as sent
    previous = models.TextField(null=True)  # JSON, as sent
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        app_label = "accounts"
        default_permissions = ("view",)
        indexes = [
            models.Index(fields=["account", "-created", "-id"], name="webhook_events_newest"),
            models.Index(fields=["account", "type", "-created", "-id"], name="webhook_events_of_type"),
            models.Index(fields=["object_id", "-created", "-id"], name="webhook_events_of_object"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.object_id}"

    def audited(self) -> dict[str, object]:
        return {"type": self.type, "objectId": self.object_id}


class EndNotice(models.Model):
    """The announcement of an expiry, unique per event and expiry (see accounts.events.deadlines)."""

    type = models.CharField(max_length=60)  # event type
    days = models.PositiveSmallIntegerField()  # days before the expiry; 0 at the expiry
    object_id = AnyIdField()
    ends_at = models.DateTimeField()

    class Meta:
        app_label = "accounts"
        constraints = [
            models.UniqueConstraint(fields=["object_id", "type", "days", "ends_at"], name="an_end_is_told_once")
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.object_id}"
