"""Policies on the wire."""

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kit.rest.fields import Choice, Id, Integer, StrictSerializer, Text, Timestamp
from kit.values.faults import Fault
from kit.values.json_values import Rendered
from kit.values.timestamps import render_timestamp
from licensing.bounds import MAX_WORD_COUNT
from licensing.policies import schemas
from licensing.policies.models import ACTIONS, Policy, PolicyRevision
from licensing.policies.modes import MODES
from licensing.policies.policy_test_serializers import PolicyTests, PolicyTestSerializer
from licensing.policies.policy_tests import MAX_TESTS
from licensing.policies.rules import parse_new_rules


@extend_schema_field(schemas.RULES)
class RulesField(serializers.Field):
    """The rules of a policy: validated, and kept as they were sent."""

    def to_internal_value(self, data: object) -> object:
        try:
            parse_new_rules(data)
        except Fault as fault:
            if not fault.path:
                raise serializers.ValidationError(fault.message) from None
            by_path: dict[str, list[str]] = {}
            for one in fault.all():
                by_path.setdefault(one.path, []).append(one.message)
            raise serializers.ValidationError(by_path) from None
        return data

    def to_representation(self, value: object) -> object:
        return value


class PolicySerializer(StrictSerializer):
    """Who may use what is linked to it, and on which terms."""

    id = Id("pol", read_only=True)
    object = Choice(choices=["policy"], read_only=True)
    name = Text(max_length=255)
    description = Text(max_length=2000, required=False, allow_null=True, allow_blank=True)
    rules = RulesField(required=False)
    defaultAction = Choice(choices=ACTIONS, required=False, source="default_action")
    mode = Choice(choices=MODES, required=False, help_text="How far its decisions are carried out.")
    tests = PolicyTests(
        child=PolicyTestSerializer(),
        required=False,
        max_length=MAX_TESTS,
        help_text="Examples that every version has to pass before it is written.",
    )
    version = serializers.IntegerField(read_only=True, min_value=1)
    created = Timestamp(read_only=True)
    updated = Timestamp(read_only=True, help_text="Present after an update.")

    sometimes = frozenset({"updated"})

    def to_representation(self, policy: Policy) -> Rendered:
        shown = {
            "id": policy.pk,
            "object": "policy",
            "name": policy.name,
            "description": policy.description,
            "rules": policy.rules,
            "defaultAction": policy.default_action,
            "mode": policy.mode,
            "tests": policy.tests,
            "version": policy.version,
            "created": render_timestamp(policy.created),
        }
        if policy.updated is not None:
            shown["updated"] = render_timestamp(policy.updated)
        return shown


class PolicyRevisionSerializer(PolicySerializer):
    """A policy as it was in one of its versions; `updated` is when that was written, but for the first."""

    def to_representation(self, policy: Policy | PolicyRevision) -> Rendered:
        return super().to_representation(policy if isinstance(policy, Policy) else as_policy(policy))


def as_policy(revision: PolicyRevision) -> Policy:
    return Policy(
        id=revision.policy_id,
        name=revision.name,
        description=revision.description,
        rules=revision.rules,
        default_action=revision.default_action,
        mode=revision.mode,
        tests=revision.tests,
        version=revision.version,
        created=revision.policy.created,
        updated=revision.created if revision.version > 1 else None,
    )


class RollbackSerializer(StrictSerializer):
    """A former version of the policy."""

    version = Integer(min_value=1, max_value=MAX_WORD_COUNT, help_text="The version to return to.")
