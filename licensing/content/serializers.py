"""Serializers for content."""

from typing import cast

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kit.http.rendering import render_json
from kit.rest.bulk import ALONE, STATUSES, ErrorShown, IndexedSerializer, RowsField
from kit.rest.fields import Choice, Date, ExternalId, Id, Integer, Text, Texts, Timestamp, Url
from kit.rest.metadata import validate_entry
from kit.rest.rows import RowSerializer
from kit.rest.serializers import StrictSerializer
from kit.values.json_values import Rendered
from kit.values.metadata import MAX_KEYS
from kit.values.suggestions import shown, such_as
from licensing.content.metadata import (
    ATTRIBUTES,
    MAX_TEXTS,
    SCHEMA,
    Attribute,
    AttributeKind,
)
from licensing.content.models import CONTENT_TYPES, Content, Status
from licensing.policies.models import Policy
from licensing.policies.serializers import PolicySerializer


def build_field(attribute: Attribute) -> serializers.Field:
    match attribute.kind:
        case AttributeKind.TEXT:
            return Text(max_length=attribute.maximum, allow_blank=True, allow_null=True)
        case AttributeKind.DAY:
            return Date(allow_null=True)
        case AttributeKind.TEXTS:
            return Texts(max_items=MAX_TEXTS, max_length=attribute.maximum, allow_null=True)
        case AttributeKind.INTEGER:
            return Integer(min_value=0, max_value=attribute.maximum, allow_null=True)


@extend_schema_field(SCHEMA)
class MetadataField(serializers.Field):
    """The known attributes, plus up to 50 other keys whose values are strings, numbers or booleans."""

    null_is_empty = True
    example = {"author": "Ada Byron", "wordCount": 1200}
    KNOWN = {attribute.name: build_field(attribute) for attribute in ATTRIBUTES}

    def to_internal_value(self, data: object) -> dict[str, object]:
        if not isinstance(data, dict):
            raise serializers.ValidationError(f"Must be an object{such_as(self.example)}, not {shown(data)}.")
        values = {}
        faults = {}
        for name, value in data.items():
            try:
                if name in self.KNOWN:
                    values[name] = self.KNOWN[name].run_validation(value)
                else:
                    values[name] = validate_entry(name, value)
            except serializers.ValidationError as error:
                faults[name] = error.detail
        if faults:
            raise serializers.ValidationError(faults)
        if sum(value is not None for name, value in values.items() if name not in self.KNOWN) > MAX_KEYS:
            raise serializers.ValidationError(f"An item has at most {MAX_KEYS} further metadata keys.")
        return values

    def to_representation(self, value: object) -> object:
        return value


class StatsSerializer(serializers.Serializer):
    """Numbers of access decisions about the item."""

    totalRequests = serializers.IntegerField(min_value=0)
    allowedRequests = serializers.IntegerField(min_value=0)
    deniedRequests = serializers.IntegerField(min_value=0)


class ContentSerializer(RowSerializer):
    """A publisher's content item, as the API shows and accepts it."""

    id = Id("cnt", read_only=True)
    object = Choice(choices=["content"], read_only=True)
    externalId = ExternalId()
    title = Text(max_length=500)
    type = Choice(choices=CONTENT_TYPES, required=False, help_text="Default: `article`.")
    source = Url(required=False, allow_null=True)  # type: ignore[assignment]
    policyId = Id("pol", required=False, allow_null=True, source="policy_id", max_length=100)
    policy = PolicySerializer(read_only=True, allow_null=True, help_text="With `expand=policy`.")
    metadata = MetadataField(required=False, allow_null=True)
    tags = Texts(max_items=50, max_length=100, required=False)
    status = Choice(
        choices=Status.choices,
        required=False,
        help_text="Default: `active`. Access to an `archived` item is denied.",
    )
    stats = StatsSerializer(read_only=True, help_text="Only in replies about a single item.")
    created = Timestamp(read_only=True)
    updated = Timestamp(read_only=True)

    cleared = {"tags": []}
    sometimes = beside_state = beside_row = frozenset({"policy", "stats"})
    growing = frozenset({"stats"})

    def to_representation(self, item: Content) -> Rendered:
        body = super().to_representation(item)
        if "policy" in self.context.get("expand", ()):
            body["policy"] = self.embedded(item.policy) if item.policy else None
        if "stats" in self.context:
            body["stats"] = self.context["stats"]
        return body

    def embedded(self, policy: Policy) -> orjson.Fragment:
        """Return the policy's JSON, rendered once per policy on a page of items: a policy can have 64 KiB."""
        context = cast("dict[str, dict[str, orjson.Fragment]]", self.context)
        rendered = context.setdefault("embedded", {})
        if policy.pk not in rendered:
            hidden: frozenset[str] = self.context.get("hidden_of_policy", frozenset())
            body = {name: value for name, value in PolicySerializer(policy).data.items() if name not in hidden}
            rendered[policy.pk] = orjson.Fragment(render_json(body))
        return rendered[policy.pk]


class BulkRowSerializer(ContentSerializer):
    """A row of a bulk request: a new item, or changes to the item with this `id` or `externalId`."""

    id = Id("cnt", required=False, allow_null=True, help_text="The item to change, as by PATCH.")
    title = Text(max_length=500, required=False, help_text="Required when creating an item.")

    never_null = frozenset({"title"})


class BulkSerializer(StrictSerializer):
    """The body of a bulk request."""

    items = RowsField(child=BulkRowSerializer())


class BulkOutcomeSerializer(IndexedSerializer):
    """The outcome of a row of a bulk request."""

    status = serializers.ChoiceField(
        choices=STATUSES,
        help_text="`201` created, `200` updated, `422` a fault of the row, `409` a conflict with another item.",
    )
    content = ContentSerializer(allow_null=True, help_text="The item, without `stats`. Null if the row has an error.")
    error = ErrorShown(allow_null=True, help_text=ALONE)
