"""The tests of policies on the wire: validated, and kept as they were sent."""

from collections.abc import Mapping

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kit.rest.fields import Boolean, Choice, Integer, Parsed, StrictSerializer, Text, Texts, Timestamp
from kit.values.networks import ADDRESS_SCHEMA, Address, parse_ip
from kit.values.timestamps import MOMENT_SCHEMA
from licensing.policies.condition_values import PERMISSION_SCHEMA, permission_name
from licensing.policies.decision import Reason
from licensing.policies.facts import ContentType
from licensing.policies.policy_tests import MAX_LICENSES, MAX_TAGS, MAX_TESTS_BYTES


@extend_schema_field(PERMISSION_SCHEMA)
class PermissionField(Parsed[str]):
    pass


@extend_schema_field({**ADDRESS_SCHEMA, "description": "An IPv4 or IPv6 address."})
class AddressField(Parsed[Address]):
    pass


@extend_schema_field(MOMENT_SCHEMA)
class Moment(Timestamp):
    """Shown as it was sent: a date may stand for its midnight."""


class AsSent(StrictSerializer):
    """A part of a test: its optional fields are absent where they were not sent."""

    @property
    def sometimes(self) -> frozenset[str]:
        return frozenset(name for name, field in self.fields.items() if not field.required)

    def to_internal_value(self, data: object) -> dict[str, object]:
        super().to_internal_value(data)
        if not isinstance(data, Mapping):  # which has been refused already
            raise TypeError
        # In a PATCH nothing is required for Django REST framework, wherever it stands.
        missing = [name for name, field in self.fields.items() if field.required and name not in data]
        if missing:
            raise serializers.ValidationError({name: ["This field is required."] for name in missing})
        return dict(data)


class Several(serializers.ListSerializer):
    default_error_messages = {"not_a_list": "Must be an array.", "max_length": "Must have at most {max_length} items."}


class HeldLicenseOfTestSerializer(AsSent):
    """A licence that the service holds for the requester and the item."""

    licenseType = Text(max_length=100)
    startsAt = Moment(required=False, allow_null=True, help_text="Long ago, unless given.")
    expiresAt = Moment(required=False, allow_null=True)


class RequesterOfTestSerializer(AsSent):
    """Who asks. Where `licenses` have begun, they count, and not what the caller vouches for: as in a check."""

    id = Text(max_length=255)
    licenseType = Text(max_length=100, required=False, allow_null=True, help_text="What the caller vouches for.")
    hasValidLicense = Boolean(required=False, allow_null=True, help_text="Likewise.")
    licenses = Several(
        child=HeldLicenseOfTestSerializer(),
        required=False,
        max_length=MAX_LICENSES,
        help_text="What the service holds for the requester and the item.",
    )


class ContentOfTestSerializer(AsSent):
    """What is known of the item."""

    type = Choice(choices=list(ContentType), required=False, allow_null=True, help_text="`article`, unless given.")
    tags = Texts(max_items=MAX_TAGS, max_length=100, required=False, help_text="Of the item.")
    category = Text(max_length=255, required=False, allow_null=True)


class ContextOfTestSerializer(AsSent):
    """The circumstances of the request."""

    ip = AddressField(parse_ip, required=False, allow_null=True)


class ExpectedDecisionSerializer(AsSent):
    """What has to come of it. Absent is what does not matter."""

    allowed = Boolean()
    reason = Choice(choices=list(Reason), required=False, allow_null=True, help_text="Of a denial.")
    matchedRule = Integer(
        required=False, allow_null=True, min_value=0, help_text="The index of the rule that decides; null for none."
    )

    def validate(self, expected: dict[str, object]) -> dict[str, object]:
        if expected["allowed"] and expected.get("reason") is not None:
            raise serializers.ValidationError({"reason": ["Only a denial has a reason."]})
        return expected


class PolicyTests(Several):
    default_error_messages = {
        "not_a_list": "Must be an array of tests.",
        "max_length": "A policy has at most {max_length} tests.",
    }

    def validate(self, tests: list[object]) -> list[object]:
        size = len(orjson.dumps(tests))
        if size > MAX_TESTS_BYTES:
            told = f"The tests of a policy take at most {MAX_TESTS_BYTES:,} bytes of JSON; these take {size:,}."
            raise serializers.ValidationError([told])
        return tests


class PolicyTestSerializer(AsSent):
    """An example of who asks for what, and what has to come of it: tried before each version is written."""

    name = Text(max_length=255, required=False, allow_null=True, help_text="What it shows.")
    requester = RequesterOfTestSerializer(help_text="Who asks.")
    content = ContentOfTestSerializer(required=False, allow_null=True, help_text="What is known of the item.")
    permission = PermissionField(
        lambda text: permission_name(text, ""),
        required=False,
        allow_null=True,
        help_text="What the requester wants to do.",
    )
    at = Moment(required=False, allow_null=True, help_text="When; the moment of the trial, unless given.")
    expect = ExpectedDecisionSerializer(help_text="What has to come of it.")

    def get_fields(self) -> dict[str, serializers.Field]:
        """`context` cannot be declared above: every serializer has an attribute of that name."""
        context = ContextOfTestSerializer(required=False, allow_null=True, help_text="The circumstances.")
        return {**super().get_fields(), "context": context}
