"""/v1/audit."""

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from accounts.auditing.models import ActorType, AuditEntry
from accounts.history.people import with_references
from accounts.viewsets import AccountViewSet
from kit.rest.fields import Choice, Id, Timestamp
from kit.rest.filters import ORDER, Index, Operand, OperatorFilterSet, choice, text, timestamp
from kit.rest.lists.windows import WindowedPagination
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


class AuditFilters(OperatorFilterSet):
    operands = {
        "action": Operand(text),
        "actorId": Operand(text, "actor_id", optional=True),
        "actorType": Operand(choice(ActorType), "actor_type"),
        "resourceId": Operand(text, "resource_id", any_of=with_references("resource_id"), index=Index.SORTS),
        "resourceType": Operand(text, "resource_type", index=Index.SORTS),
        "created": Operand(timestamp, operators=ORDER),
    }


class AuditViewSet(AccountViewSet[AuditEntry]):
    """Read-only access to the audit log."""

    permissions_required = {"list": "audit:read", "retrieve": "audit:read"}
    exportable = {"list": "audit"}
    serializer_class = AuditEntrySerializer
    filterset_class = AuditFilters
    pagination_class = WindowedPagination
    queryset = AuditEntry.objects.all()

    @extend_schema(summary="List changes", responses=AuditEntrySerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Every change to the account and its resources, newest first, by keys, operators, commands and the
        service.
        """
        return self.page()

    @extend_schema(summary="Get a change")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())
