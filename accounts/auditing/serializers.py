"""Audit entries in the API."""

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.auditing.models import ActorType
from kit.rest.fields import Choice, Id, Timestamp
from kit.rest.rows import ShownRow


@extend_schema_field(
    {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {}, "minItems": 2, "maxItems": 2},
        "description": "Of each field that changed its value before and after; null where there was none.",
    }
)
class ChangesField(serializers.Field):
    """The changes as stored."""


class AuditEntrySerializer(ShownRow):
    """A change. Names and titles are those at the time."""

    id = Id("aud")
    object = Choice(choices=["audit_entry"])
    action = serializers.CharField(help_text="Kind of resource and action, for example `content.updated`.")
    actorType = Choice(choices=ActorType.choices)
    actorId = serializers.CharField(
        allow_null=True, help_text="A key's id, an operator's number, a command's name; null for the service itself."
    )
    actorName = serializers.CharField(
        allow_null=True, help_text="A key's name and prefix, an operator's name, or who ran the command."
    )
    resourceType = serializers.CharField(help_text="As in `content`, `policy`, `api_key`, `account`.")
    resourceId = serializers.CharField()
    resourceTitle = serializers.CharField(help_text="Title or name of the resource at that time.")
    changes = ChangesField()
    requestId = serializers.CharField(
        allow_null=True, help_text="The `X-Request-Id` of the request that made the change."
    )
    address = serializers.CharField(allow_null=True, help_text="The client's address.")
    created = Timestamp()
