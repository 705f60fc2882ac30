"""Create and change many policies at once (POST /v1/policies/bulk); each row follows the rules of POST or PATCH.

The number of statements does not depend on the number of rows.
"""

from collections.abc import Mapping, Sequence
from copy import copy

from django.db import IntegrityError, transaction
from django.db.models import Sum, TextField
from django.db.models.functions import Cast, Length
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from kit.http.errors import ValidationFailed
from kit.rest.bulk import NOTHING, BulkByExternalId, Kind, Outcome, Row, named_by
from kit.values import ids
from kit.values.faults import REQUIRED, FaultKind
from licensing.policies import services
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.serializers import PolicySerializer
from licensing.policies.services import Fields

ATTEMPTS = 5
KIND = Kind("pol", "policy")
# Of rules and tests in the policies that a request changes: the reply has them all, and each change runs the tests.
MAX_CHARACTERS = 4 * 1024 * 1024
SIZE = Length(Cast("rules", TextField())) + Length(Cast("tests", TextField()))
# Columns that a change writes.
WRITTEN = ["external_id", "name", "description", "rules", "default_action", "mode", "tests", "metadata", "version",
           "updated"]  # fmt: skip


def read_rows(bodies: Sequence[object]) -> list[Row]:
    return KIND.read(bodies, PolicySerializer(), PolicySerializer(partial=True))


def check_size(account_id: str, rows: Sequence[Row]) -> None:
    """Raises ValidationFailed if the policies that the rows change are too large together."""
    named = Policy.objects.of(account_id).filter(named_by(rows))
    if (named.aggregate(size=Sum(SIZE))["size"] or 0) > MAX_CHARACTERS:
        raise ValidationFailed(
            f"The policies that a request changes can have at most {MAX_CHARACTERS:,} characters of rules and "
            "tests together.",
            param="items",
        )


def write_policies(
    account_id: str, rows: Sequence[Row], earlier: Mapping[object, int] = NOTHING
) -> list[Outcome[Policy]]:
    """Write the rows in one transaction; return the outcome of each. `earlier` is that of `Bulk`.

    Retries if another request takes an externalId at the same time.
    """
    for attempt in range(ATTEMPTS):
        try:
            with transaction.atomic():
                return PolicyBulk(account_id, rows, earlier).run()
        except IntegrityError:
            # The retry finds the policy that now has the externalId.
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


class PolicyBulk(BulkByExternalId[Policy]):
    kind = KIND
    taken = staticmethod(services.external_id_taken)

    def __init__(self, account_id: str, rows: Sequence[Row], earlier: Mapping[object, int]) -> None:
        self.account_id, self.now = account_id, timezone.now()
        named = Policy.objects.of(account_id).filter(named_by(rows))
        super().__init__(rows, named.order_by("pk").select_for_update(), earlier)
        self.written: list[Policy] = []
        self.changed: list[str] = []  # ids
        self.released: list[str] = []  # policies that give up their externalId
        self.changes: list[audit.Change | None] = []

    def act(self, row: Row) -> tuple[int, Policy]:
        policy = self.found(row)
        return (201, self.create(row.fields)) if policy is None else (200, self.change(policy, row.fields))

    def create(self, fields: Fields) -> Policy:
        if "name" not in fields:
            raise ValidationFailed(REQUIRED, param="name", kind=FaultKind.MISSING)
        made = services.new_policy(self.account_id, fields, self.now)
        self.note("policy.created", made, {})
        return made

    def change(self, policy: Policy, fields: Fields) -> Policy:
        changed, before = copy(policy), policy.audited()
        services.change_terms(changed, fields)
        if not audit.changes(before, changed.audited()):
            return policy
        services.next_version(changed, self.now)
        if policy.external_id is not None and policy.external_id != changed.external_id:
            self.released.append(policy.pk)
        self.changed.append(policy.pk)
        self.note("policy.updated", changed, before)
        return changed

    def note(self, action: str, policy: Policy, before: dict[str, object]) -> None:
        self.changes.append(audit.entry(action, policy, before))
        self.written.append(policy)
        self.remember(policy)

    def run(self) -> list[Outcome[Policy]]:
        outcomes = self.outcomes()
        if self.written:
            if self.released:  # another row may have claimed one
                Policy.objects.filter(pk__in=self.released).update(external_id=None)
            # In a fixed order, so that two requests that insert the same policies wait instead of deadlocking.
            ordered = sorted(self.written, key=lambda policy: policy.external_id or "")
            Policy.objects.bulk_create(ordered, update_conflicts=True, unique_fields=["id"], update_fields=WRITTEN)
            PolicyRevision.objects.bulk_create(map(services.build_revision, self.written))
            audit.record_all(self.changes)
            if self.changed:
                epochs.bump(self.account_id, {ids.id_to_hex("pol", one) for one in self.changed})
        return outcomes
