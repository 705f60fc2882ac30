"""Serializers of policies and their tests. Tests are validated and stored as sent."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import cast

import msgspec
import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from kit.http.field_errors import to_error_detail
from kit.rest.fields import Boolean, Choice, ExternalId, Id, Integer, ParsedField, Several, Text, Timestamp
from kit.rest.metadata import FreeMetadata
from kit.rest.serializers import StrictSerializer
from kit.values.faults import Fault, fault_message
from kit.values.json_values import Rendered
from kit.values.numbers import MAX_INTEGER
from kit.values.timestamps import MOMENT_SCHEMA, render_timestamp
from licensing.policies import schemas
from licensing.policies.condition_values import PERMISSION_SCHEMA, parse_permission
from licensing.policies.decision import Reason
from licensing.policies.facts import TESTED_FACTS, Fact
from licensing.policies.models import ACTIONS, Policy, PolicyRevision
from licensing.policies.modes import MODES
from licensing.policies.policy_tests import MAX_LICENSES, MAX_TESTS, MAX_TESTS_BYTES
from licensing.policies.rules import MAX_RULES, parse_new_rules


@extend_schema_field(PERMISSION_SCHEMA)
class PermissionField(ParsedField[str]):
    pass


@extend_schema_field(MOMENT_SCHEMA)
class Moment(Timestamp):
    """A timestamp shown as it was sent. A date means midnight."""


class FactField(serializers.Field):
    """A fact that callers send, validated and stored as sent."""

    def __init__(self, fact: Fact, *, allow_null: bool = False) -> None:
        super().__init__(required=False, allow_null=allow_null, help_text=fact.description or None)
        self.fact = fact
        schema = cast("dict[str, object]", schemas.simplify(msgspec.json.schema(fact.type)))
        # drf-spectacular adds null to `anyOf`, but turns a bare enumeration into a component without null.
        is_choice_or_null = allow_null and "enum" in schema
        self._spectacular_annotation = {"field": {"anyOf": [schema]} if is_choice_or_null else schema}

    def to_internal_value(self, data: object) -> object:
        try:
            self.fact.parse(msgspec.convert(data, self.fact.type), "")
        except msgspec.ValidationError as error:
            raise serializers.ValidationError(fault_message(str(error).partition(" - at `$")[0])) from None
        except Fault as first:
            wrong = [(fault.path.removeprefix("."), fault.message) for fault in first.all()]
            raise serializers.ValidationError(
                {path: [message] for path, message in wrong} if wrong[0][0] else wrong[0][1]
            ) from None
        return data

    def to_representation(self, value: object) -> object:
        return value


def fact_fields(facts: Iterable[Fact], *, allow_null: bool = False) -> dict[str, serializers.Field]:
    """Return the fields by name within their part of the body."""
    return {fact.key: FactField(fact, allow_null=allow_null) for fact in facts}


class StoredAsSentSerializer(StrictSerializer):
    """A part of a policy test. Optional fields that were not sent are absent."""

    facts = ""  # the part of a test whose facts become fields (licensing.policies.facts)

    def get_fields(self) -> dict[str, serializers.Field]:
        facts = [fact for fact in TESTED_FACTS if self.facts and fact.part == self.facts]
        return {**super().get_fields(), **fact_fields(facts, allow_null=True)}

    @property
    def sometimes(self) -> frozenset[str]:
        return frozenset(name for name, field in self.fields.items() if not field.required)

    def to_internal_value(self, data: object) -> dict[str, object]:
        super().to_internal_value(data)
        if not isinstance(data, Mapping):  # for the type checker; rejected above
            raise TypeError
        return dict(data)


class HeldLicenseOfTestSerializer(StoredAsSentSerializer):
    """A licence that the service holds for the requester and the item."""

    licenseType = Text(max_length=100)
    startsAt = Moment(required=False, allow_null=True, help_text="Default: long ago.")
    expiresAt = Moment(required=False, allow_null=True)


class RequesterOfTestSerializer(StoredAsSentSerializer):
    """The requester of a test. `licenses` that have started override the caller's claims, as in a check."""

    facts = "requester"
    id = Text(max_length=255)
    licenseType = Text(max_length=100, required=False, allow_null=True, help_text="Asserted by the caller.")
    hasValidLicense = Boolean(required=False, allow_null=True, help_text="Asserted by the caller.")
    licenses = Several(
        child=HeldLicenseOfTestSerializer(),
        required=False,
        allow_null=True,
        max_length=MAX_LICENSES,
        help_text="The service's own licences for the requester and the item.",
    )


class ContentOfTestSerializer(StoredAsSentSerializer):
    """The item of a test."""

    facts = "content"


class ContextOfTestSerializer(StoredAsSentSerializer):
    """The context of a test's request."""

    facts = "context"


class ExpectedDecisionSerializer(StoredAsSentSerializer):
    """The expected decision. Omitted members may have any value."""

    allowed = Boolean()
    reason = Choice(choices=list(Reason), required=False, allow_null=True, help_text="The reason of a denial.")
    matchedRule = Integer(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=MAX_RULES - 1,
        help_text="Index of the deciding rule; null if there is none.",
    )

    def validate(self, expected: dict[str, object]) -> dict[str, object]:
        if expected["allowed"] and expected.get("reason") is not None:
            raise serializers.ValidationError({"reason": ["Only a denial has a reason."]})
        return expected


class PolicyTests(Several):
    default_error_messages = {"max_length": "A policy has at most {max_length} tests."}

    def validate(self, tests: list[object]) -> list[object]:
        size = len(orjson.dumps(tests))
        if size > MAX_TESTS_BYTES:
            message = f"The tests of a policy take at most {MAX_TESTS_BYTES:,} bytes of JSON; these take {size:,}."
            raise serializers.ValidationError([message])
        return tests


class PolicyTestSerializer(StoredAsSentSerializer):
    """An example request with its expected decision, run before each version is stored."""

    example = {"requester": {"id": "org_acme"}, "expect": {"allowed": True}}

    name = Text(max_length=255, required=False, allow_null=True, help_text="What the test shows.")
    requester = RequesterOfTestSerializer(help_text="The requester.")
    content = ContentOfTestSerializer(required=False, allow_null=True, help_text="The item's facts.")
    permission = PermissionField(
        lambda text: parse_permission(text, ""),
        required=False,
        allow_null=True,
        help_text="What the requester wants to do.",
    )
    at = Moment(required=False, allow_null=True, help_text="The time of the test check. Default: now.")
    expect = ExpectedDecisionSerializer(help_text="The expected decision.")

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add `context`, which cannot be declared above because every serializer has that attribute."""
        context = ContextOfTestSerializer(required=False, allow_null=True, help_text="The circumstances.")
        return {**super().get_fields(), "context": context}


@extend_schema_field(schemas.RULES)
class RulesField(serializers.Field):
    """The rules of a policy, validated and stored as sent."""

    takes_null = False  # `[]` removes them all, which changes who gets in

    def to_internal_value(self, data: object) -> object:
        try:
            parse_new_rules(data)
        except Fault as fault:
            if not fault.path:
                raise serializers.ValidationError(fault.message) from None
            by_path: dict[str, list[ErrorDetail]] = {}
            for single in fault.all():
                by_path.setdefault(single.path, []).append(to_error_detail(single))
            raise serializers.ValidationError(by_path) from None
        return data

    def to_representation(self, value: object) -> object:
        return value


class PolicySerializer(StrictSerializer):
    """The terms on which requesters may access linked items."""

    id = Id("pol", read_only=True)
    object = Choice(choices=["policy"], read_only=True)
    externalId = ExternalId("The policy's id in your own system. Unique within the account.")
    name = Text(max_length=255)
    description = Text(max_length=2000, required=False, allow_null=True, allow_blank=True)
    rules = RulesField(required=False)
    defaultAction = Choice(
        choices=ACTIONS,
        required=False,
        source="default_action",
        help_text="What decides where no rule matches. Default: `deny`.",
    )
    mode = Choice(
        choices=MODES,
        required=False,
        help_text="Whether decisions are enforced or only recorded. Default: `enforce`.",
    )
    tests = PolicyTests(
        child=PolicyTestSerializer(),
        required=False,
        max_length=MAX_TESTS,
        help_text="Tests that every version must pass before it is saved. Absent for public keys.",
    )
    metadata = FreeMetadata(required=False, allow_null=True)
    version = serializers.IntegerField(read_only=True, min_value=1)
    created = Timestamp(read_only=True)
    updated = Timestamp(read_only=True, help_text="Present after an update.")

    cleared = {"tests": []}
    for_secret_keys = frozenset({"tests", "metadata"})
    sometimes = for_secret_keys | {"updated"}

    def to_representation(self, policy: Policy) -> Rendered:
        return render_policy(policy, policy, policy.updated)


def render_policy(policy: Policy, version: Policy | PolicyRevision, updated: datetime | None) -> Rendered:
    """Return a version of the policy in JSON; the current one is the policy itself."""
    body = {
        "id": policy.pk,
        "object": "policy",
        "externalId": policy.external_id,
        "name": version.name,
        "description": version.description,
        "rules": version.rules,
        "defaultAction": version.default_action,
        "mode": version.mode,
        "tests": version.tests,
        "metadata": policy.metadata,
        "version": version.version,
        "created": render_timestamp(policy.created),
    }
    if updated is not None:
        body["updated"] = render_timestamp(updated)
    return body


class PolicyRevisionSerializer(PolicySerializer):
    """A version of a policy. `updated` is when it was stored; absent for the first version.

    `externalId` and `metadata` are the policy's current ones: versions do not keep them.
    """

    def to_representation(self, version: Policy | PolicyRevision) -> Rendered:
        if isinstance(version, Policy):
            return super().to_representation(version)
        return render_policy(version.policy, version, version.created if version.version > 1 else None)


class RollbackSerializer(StrictSerializer):
    """A former version of the policy."""

    version = Integer(min_value=1, max_value=MAX_INTEGER, help_text="The version to return to.")
