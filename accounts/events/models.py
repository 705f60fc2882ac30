"""Stored events."""

from typing import Any, ClassVar

import orjson
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.events.event_types import BY_NAME, TYPES
from accounts.history.personal_members import PERSONAL
from accounts.history.rows import HistoryRow, Refer
from kit.storage.loading import QuicklyLoaded
from kit.values.ids import AnyIdField, IdField

ABOUT_CUSTOMERS = [event_type.name for event_type in TYPES if event_type.object in PERSONAL]
# Where objects have customers' own ids, by kind.
IDS = {"requester": ("id",), "access_summary": ("requester.id",), "limit": ("requester.id",)}


Document = dict[str, Any]


class Event(QuicklyLoaded, HistoryRow):
    """A change with its resource as the API showed it.

    Written with the change, never modified, deleted after the retention period.
    """

    concealed: ClassVar[tuple[str, ...]] = ("object_id", "data", "previous")
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
            models.Index(fields=["customer"], condition=Q(customer__isnull=False), name="events_of_customer"),
            models.Index(fields=["other_customer"], condition=Q(other_customer__isnull=False), name="events_of_other"),
            # Those of the version before, if they may concern customers.
            models.Index(
                fields=["account", "id"], condition=Q(sealed=None, type__in=ABOUT_CUSTOMERS), name="events_unsealed"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.object_id}"

    def concerns_customers(self) -> bool:
        return self.type in ABOUT_CUSTOMERS

    def remainder(self, refer: Refer) -> dict[str, object]:
        kind = BY_NAME[self.type].object
        kept: dict[str, object] = {}
        if kind == "requester":
            kept["object_id"] = refer(self.object_id)
        for column in ("data", "previous"):
            text = getattr(self, column)
            if text is not None:
                kept[column] = orjson.dumps(without_customers(orjson.loads(text), kind, refer)).decode()
        return kept

    def audited(self) -> dict[str, object]:
        return {"type": self.type, "objectId": self.object_id}


def without_customers(data: Document, kind: str, refer: Refer) -> Document:
    """Empty the members of an object that describe a customer, and replace own ids by references."""
    for path, empty in PERSONAL[kind].items():
        holder, name = holder_of(data, path)
        if name in holder:
            holder[name] = empty
    for path in IDS.get(kind, ("requesterId",)):
        holder, name = holder_of(data, path)
        if name in holder:
            holder[name] = refer(holder[name])
    return data


def holder_of(data: Document, path: str) -> tuple[Document, str]:
    """Return the object with the member at a path such as `requester.name`, and the member's name."""
    outer, _, name = path.rpartition(".")
    if not outer:
        return data, name
    return data.get(outer) or {}, name


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
