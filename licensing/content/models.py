"""Database models of content."""

from datetime import date
from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from accounts.models import Account
from kit.storage.code_points import ByCodePoint
from kit.storage.loading import QuicklyLoaded
from kit.values.ids import IdField
from kit.values.numbers import NumbersOfTheApi
from licensing.content.metadata import ATTRIBUTES
from licensing.owned import OwnedManager
from licensing.policies.facts import ContentType
from licensing.policies.models import Policy

CONTENT_TYPES = [(str(content_type), content_type.title()) for content_type in ContentType]


class Status(models.TextChoices):
    ACTIVE = "active"
    ARCHIVED = "archived"


class Content(QuicklyLoaded, models.Model):
    """A publisher's content item. Deleting it only sets `deleted_at`, because analytics refer to the row."""

    searched_by: ClassVar[tuple[str, ...]] = ("/v1/content?externalId=",)

    id = IdField("cnt", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="content")
    external_id = models.CharField(max_length=255, null=True, blank=True)
    title = models.CharField(max_length=500)
    type = models.CharField(max_length=10, choices=CONTENT_TYPES, default=ContentType.ARTICLE.value)
    source = models.TextField(null=True, blank=True)
    source_key = models.BinaryField(max_length=16, null=True, editable=False)  # see licensing.content.url_key
    page_key = models.BinaryField(max_length=16, null=True, editable=False)  # see licensing.content.url_key
    policy = models.ForeignKey(
        Policy, on_delete=models.PROTECT, null=True, blank=True, related_name="content", db_index=False
    )
    author = models.CharField(max_length=255, null=True, blank=True)
    published_at = models.DateField(null=True, blank=True)
    category = models.CharField(max_length=255, null=True, blank=True)
    word_count = models.PositiveIntegerField(null=True, blank=True)
    metadata_tags = models.JSONField(null=True, blank=True)
    metadata_extra = models.JSONField(default=dict, blank=True, decoder=NumbersOfTheApi)
    tags = models.JSONField(default=list, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    created = models.DateTimeField(editable=False)
    updated = models.DateTimeField(editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    objects = OwnedManager()

    class Meta:
        verbose_name = "content item"
        verbose_name_plural = "content items"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "external_id"], condition=Q(deleted_at=None), name="external_id_is_unique"
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "-created", "-id"], condition=Q(deleted_at=None), name="content_newest_first"
            ),
            models.Index(fields=["account", "updated", "id"], condition=Q(deleted_at=None), name="content_by_updated"),
            models.Index(
                F("account"),
                ByCodePoint("title"),
                F("id"),
                condition=Q(deleted_at=None),
                name="content_title_order",
            ),
            models.Index(fields=["account", "source_key"], condition=Q(deleted_at=None), name="content_by_source"),
            models.Index(fields=["account", "page_key"], condition=Q(deleted_at=None), name="content_by_page"),
            # Allows counting a policy's items by an index-only scan.
            models.Index(fields=["policy"], condition=Q(deleted_at=None), name="content_of_policy"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def metadata(self) -> dict[str, object]:
        fields: dict[str, object] = {}
        for attribute in ATTRIBUTES:
            value = getattr(self, attribute.column)
            if value is not None:
                fields[attribute.name] = value.isoformat() if isinstance(value, date) else value
        return fields | self.metadata_extra

    def audited(self) -> dict[str, object]:
        return {
            "externalId": self.external_id,
            "title": self.title,
            "type": str(self.type),
            "source": self.source,
            "policyId": self.policy_id,
            **{f"metadata.{name}": value for name, value in self.metadata.items()},
            "tags": self.tags,
            "status": str(self.status),
        }
