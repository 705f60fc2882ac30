"""Create and change many policies at once (POST /v1/policies/bulk); each row follows the rules of POST or PATCH."""

from collections.abc import Iterable, Sequence
from copy import copy

from django.db.models import Sum, TextField
from django.db.models.functions import Cast, Length
from rest_framework import serializers

from accounts.auditing import audit
from accounts.bulk import AccountBulk, named_rows_filter
from kit.http.errors import ValidationFailed
from kit.rest.bulk import ALONE, STATUSES, ErrorShown, IndexedSerializer, Row, RowsField
from kit.rest.fields import Id, Text
from kit.rest.serializers import StrictSerializer
from kit.values import ids
from licensing.policies import services
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.serializers import PolicySerializer
from licensing.policies.services import Fields

# Of rules and tests in the policies that a request changes: the reply has them all, and each change runs the tests.
MAX_CHARACTERS = 4 * 1024 * 1024
SIZE = Length(Cast("rules", TextField())) + Length(Cast("tests", TextField()))
# Columns that a change writes.
WRITTEN = ["external_id", "name", "description", "rules", "default_action", "mode", "tests", "metadata", "version",
           "updated"]  # fmt: skip


class PolicyBulkRowSerializer(PolicySerializer):
    """A policy to create, or changes to the one named by `id` or `externalId`."""

    id = Id("pol", required=False, allow_null=True, help_text="The policy to change, as by PATCH.")
    name = Text(max_length=255, required=False, help_text="Required when creating a policy.")

    never_null = frozenset({"name"})


class PolicyBulkSerializer(StrictSerializer):
    """Policies to create or change."""

    items = RowsField(child=PolicyBulkRowSerializer())


class PolicyBulkOutcomeSerializer(IndexedSerializer):
    """The outcome of a row."""

    status = serializers.ChoiceField(
        choices=STATUSES,
        help_text="`201` created, `200` changed or already so, `422` a fault of the row or a failing test, `409` a "
        "policy that an earlier row is about, or an `externalId` that another policy has.",
    )
    policy = PolicySerializer(allow_null=True, help_text="Null if the row has an error.")
    error = ErrorShown(allow_null=True, help_text=ALONE)


class PolicyBulk(AccountBulk[Policy]):
    prefix = "pol"
    short_name = "policy"
    kind = "policy"
    required = {"name": "name"}
    conflict = staticmethod(services.external_id_conflict)

    @classmethod
    def serializers(cls) -> tuple[StrictSerializer, StrictSerializer]:
        return PolicySerializer(), PolicySerializer(partial=True)

    @classmethod
    def check(cls, account_id: str, rows: Sequence[Row]) -> None:
        """Raises ValidationFailed if the policies that the rows change are too large together."""
        policies = Policy.objects.of(account_id).filter(named_rows_filter(rows))
        if (policies.aggregate(size=Sum(SIZE))["size"] or 0) > MAX_CHARACTERS:
            raise ValidationFailed(
                f"The policies that a request changes can have at most {MAX_CHARACTERS:,} characters of rules and "
                "tests together.",
                param="items",
            )

    def lock(self) -> Iterable[Policy]:
        return (
            Policy.objects.of(self.account_id).filter(named_rows_filter(self.rows)).order_by("pk").select_for_update()
        )

    def create(self, fields: Fields) -> Policy:
        policy = services.build_policy(self.account_id, fields, self.now)
        self.note(None, policy, {})
        return policy

    def change(self, policy: Policy, fields: Fields) -> Policy:
        changed = copy(policy)
        before = policy.audited()
        services.change_terms(changed, fields)
        if not audit.diff(before, changed.audited()):
            return policy
        services.advance_version(changed, self.now)
        self.note(policy, changed, before)
        return changed

    def write(self, policies: list[Policy]) -> None:
        # In a fixed order, so that two requests that insert the same policies wait instead of deadlocking.
        ordered = sorted(policies, key=lambda policy: policy.external_id or "")
        Policy.objects.bulk_create(ordered, update_conflicts=True, unique_fields=["id"], update_fields=WRITTEN)
        PolicyRevision.objects.bulk_create(map(services.build_revision, policies))

    def epoch_names(self) -> set[str]:
        return {ids.id_to_hex("pol", former.pk) for former, _ in self.changed_resources if former is not None}
