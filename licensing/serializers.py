"""Content and policies on the wire."""

import re
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api.fields import Choice, Date, Id, Integer, StrictSerializer, Text, Texts, Timestamp, Url
from config.api.timestamps import render_timestamp
from licensing import schemas
from licensing.models import Action, Content, ContentType, Policy, PolicyRevision, Status, known_metadata
from licensing.rules import RuleError, parse_new_rules

MAX_WORD_COUNT = 2_147_483_647
MAX_METADATA_KEYS = 50
MAX_METADATA_TEXT = 500
IS_METADATA_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}").fullmatch


@extend_schema_field(schemas.RULES)
class RulesField(serializers.Field):
    """The rules of a policy: validated, and kept as they were sent."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            parse_new_rules(data)
        except RuleError as error:
            raise serializers.ValidationError({error.path: [error.message]} if error.path else error.message) from None
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class PolicySerializer(StrictSerializer):
    """Who may use what is linked to it, and on which terms."""

    id = Id("pol", read_only=True)
    object = Choice(choices=["policy"], read_only=True)
    name = Text(max_length=255)
    description = Text(max_length=2000, required=False, allow_null=True, allow_blank=True)
    rules = RulesField(required=False)
    defaultAction = Choice(choices=Action.choices, required=False, source="default_action")
    version = serializers.IntegerField(read_only=True, min_value=1)
    created = Timestamp(read_only=True)
    updated = Timestamp(read_only=True, help_text="Present after an update.")

    sometimes = frozenset({"updated"})

    def to_representation(self, policy: Policy) -> dict[str, Any]:
        shown = {
            "id": policy.pk,
            "object": "policy",
            "name": policy.name,
            "description": policy.description,
            "rules": policy.rules,
            "defaultAction": policy.default_action,
            "version": policy.version,
            "created": render_timestamp(policy.created),
        }
        if policy.updated is not None:
            shown["updated"] = render_timestamp(policy.updated)
        return shown


class PolicyRevisionSerializer(PolicySerializer):
    """A policy as it was in one of its versions; `updated` is when that was written, but for the first."""

    def to_representation(self, revision: PolicyRevision) -> dict[str, Any]:  # type: ignore[override]
        return super().to_representation(
            Policy(
                id=revision.policy_id,
                name=revision.name,
                description=revision.description,
                rules=revision.rules,
                default_action=revision.default_action,
                version=revision.version,
                created=revision.policy.created,
                updated=revision.created if revision.version > 1 else None,
            )
        )


class RollbackSerializer(StrictSerializer):
    """A former version of the policy."""

    version = Integer(min_value=1, max_value=MAX_WORD_COUNT, help_text="The version to return to.")


@extend_schema_field(schemas.METADATA)
class MetadataField(serializers.Field):
    """The known attributes, and up to 50 further keys with a string, a number or a boolean."""

    KNOWN: dict[str, serializers.Field] = {
        "author": Text(max_length=255, allow_blank=True, allow_null=True),
        "publishedAt": Date(allow_null=True),
        "category": Text(max_length=255, allow_blank=True, allow_null=True),
        "tags": Texts(max_items=50, max_length=100, allow_null=True),
        "wordCount": Integer(min_value=0, max_value=MAX_WORD_COUNT, allow_null=True),
    }

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("Must be an object.")
        read = {}
        for name, value in data.items():
            try:
                if name in self.KNOWN:
                    read[name] = self.KNOWN[name].run_validation(value)
                else:
                    read[name] = self.further(name, value)
            except serializers.ValidationError as error:
                raise serializers.ValidationError({name: error.detail}) from None
        if sum(value is not None for name, value in read.items() if name not in self.KNOWN) > MAX_METADATA_KEYS:
            raise serializers.ValidationError(f"An item has at most {MAX_METADATA_KEYS} further metadata keys.")
        return read

    def further(self, name: str, value: Any) -> Any:
        if not IS_METADATA_KEY(name):
            raise serializers.ValidationError("A key has 1 to 64 of A-Z, a-z, 0-9, '_', '.' and '-'.")
        if isinstance(value, str) and len(value) > MAX_METADATA_TEXT:
            raise serializers.ValidationError(f"Must have at most {MAX_METADATA_TEXT} characters.")
        if value is not None and not isinstance(value, str | int | float):
            raise serializers.ValidationError("Must be a string, a number or a boolean.")
        return value

    def to_representation(self, value: Any) -> Any:
        return value


class StatsSerializer(serializers.Serializer):
    """Every decision that was answered for the item."""

    totalRequests = serializers.IntegerField(min_value=0)
    allowedRequests = serializers.IntegerField(min_value=0)
    deniedRequests = serializers.IntegerField(min_value=0)


class ContentSerializer(StrictSerializer):
    """An item that a publisher owns."""

    id = Id("cnt", read_only=True)
    object = Choice(choices=["content"], read_only=True)
    externalId = Text(max_length=255, required=False, allow_null=True, source="external_id")
    title = Text(max_length=500)
    type = Choice(choices=ContentType.choices, required=False)
    source = Url(required=False, allow_null=True)  # type: ignore[assignment]
    policyId = Text(required=False, allow_null=True, source="policy_id", max_length=100)
    policy = PolicySerializer(read_only=True, allow_null=True, help_text="With `expand=policy`.")
    metadata = MetadataField(required=False, allow_null=True)
    tags = Texts(max_items=50, max_length=100, required=False, allow_null=True)
    status = Choice(choices=Status.choices, required=False)
    stats = StatsSerializer(read_only=True, help_text="On a single item.")
    created = Timestamp(read_only=True)
    updated = Timestamp(read_only=True)

    sometimes = frozenset({"policy", "stats"})

    def validate_tags(self, tags: list[str] | None) -> list[str]:
        return tags or []

    def to_representation(self, item: Content) -> dict[str, Any]:
        shown = {
            "id": item.pk,
            "object": "content",
            "externalId": item.external_id,
            "title": item.title,
            "type": item.type,
            "source": item.source,
            "policyId": item.policy_id,
            "metadata": known_metadata(item),
            "tags": item.tags,
            "status": item.status,
            "created": render_timestamp(item.created),
            "updated": render_timestamp(item.updated),
        }
        if "policy" in self.context.get("expand", ()):
            shown["policy"] = PolicySerializer(item.policy).data if item.policy else None
        if "stats" in self.context:
            shown["stats"] = self.context["stats"]
        return shown


class DeletedSerializer(serializers.Serializer):
    id = serializers.CharField()
    object = Choice(choices=["content", "policy"])
    deleted = serializers.BooleanField(help_text="Always true.")
