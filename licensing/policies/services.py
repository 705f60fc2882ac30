"""Operations on policies, for endpoints, commands and the admin."""

from collections.abc import Mapping
from datetime import datetime

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from kit.http.errors import AlreadyExists, ApiError, InUse, ValidationFailed
from kit.rest.metadata import merge_metadata
from kit.rest.resources import find
from kit.values import ids
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.policy_tests import PolicyTest, TestResult, run_tests
from licensing.policies.rules import parse_rules

Fields = Mapping[str, object]  # validated fields of a policy
VERSIONED = ("name", "description", "rules", "default_action", "mode", "tests")  # what a revision keeps of a policy
MAX_NAMED = 10  # sites in an error


def build_revision(policy: Policy) -> PolicyRevision:
    """Build the unsaved revision of the policy's current version."""
    terms = {name: getattr(policy, name) for name in VERSIONED}
    return PolicyRevision(policy=policy, version=policy.version, created=policy.updated or policy.created, **terms)


def save_revision(policy: Policy) -> None:
    build_revision(policy).save(force_insert=True)


@transaction.atomic
def create_policy(account_id: str, fields: Fields) -> Policy:
    """Create a policy.

    Raises ValidationFailed if one of its tests fails, and AlreadyExists if its externalId is in use.
    """
    policy = build_policy(account_id, fields, timezone.now())
    save_policy(policy)
    save_revision(policy)
    audit.record("policy.created", policy, {})
    return policy


def build_policy(account_id: str, fields: Fields, now: datetime) -> Policy:
    """Build an unsaved policy. Raises ValidationFailed if one of its tests fails."""
    terms = {**fields, "metadata": merge_metadata({}, fields.get("metadata"))}
    policy = Policy(account_id=account_id, created=now, **terms)
    require_passing_tests(policy)
    return policy


@transaction.atomic
def update_policy(policy: Policy, fields: Fields) -> Policy:
    """Store the next version, unless nothing changes. Concurrent updates are serialized.

    Raises ValidationFailed if one of its tests fails, and AlreadyExists if its externalId is in use.
    """
    locked = lock_policy(policy)
    before = locked.audited()
    change_terms(locked, fields)
    if not audit.diff(before, locked.audited()):
        return locked
    return write_version(locked, before, "policy.updated")


def change_terms(policy: Policy, fields: Fields) -> None:
    """Set the fields in memory."""
    for name, value in fields.items():
        setattr(policy, name, merge_metadata(policy.metadata, value) if name == "metadata" else value)


def save_policy(policy: Policy) -> None:
    """Insert or update the row. Raises AlreadyExists if another policy of the account has the externalId."""
    external_id = policy.external_id
    try:
        with transaction.atomic(savepoint=external_id is not None):
            policy.save(force_insert=policy._state.adding)
    except IntegrityError:
        if external_id is None:
            raise
        same_id = Policy.objects.of(policy.account_id).filter(external_id=external_id).exclude(pk=policy.pk)
        holder = same_id.values_list("pk", flat=True).first()
        if holder is None:
            raise
        raise external_id_conflict(external_id, holder) from None


def external_id_conflict(external_id: str, holder: str) -> AlreadyExists:
    """Return the error for an externalId that the policy `holder` has."""
    return AlreadyExists(
        f"There is a policy with the externalId {external_id!r} already: {holder}.", param="externalId"
    )


def lock_policy(policy: Policy) -> Policy:
    return find(Policy.objects.of(policy.account_id).select_for_update(), policy.pk)


def run_policy_tests(policy: Policy) -> list[TestResult]:
    """Run the policy's tests at the current time."""
    if not policy.tests:
        return []
    return run_tests(parse_rules(policy.rules), policy.default_action, policy.tests, timezone.now())


def require_passing_tests(policy: Policy) -> None:
    """Raises ValidationFailed naming each failing test."""
    failed = [result for result in run_policy_tests(policy) if not result.passed]
    if failed:
        faults: list[ApiError] = [
            ValidationFailed(failure.sentence, param=f"tests[{failure.index}]") for failure in failed
        ]
        faults[0].further = faults[1:]
        raise faults[0]


@transaction.atomic
def append_test(policy: Policy, test: PolicyTest) -> Policy:
    """Append a test to the policy's current ones. Raises ValidationFailed, like an update."""
    locked = lock_policy(policy)
    return update_policy(locked, {"tests": [*locked.tests, test]})


def write_version(locked: Policy, before: dict[str, object], action: str) -> Policy:
    advance_version(locked, timezone.now())
    save_policy(locked)
    save_revision(locked)
    audit.record(action, locked, before)
    epochs.invalidate(locked.account_id, {ids.id_to_hex("pol", locked.pk)})
    return locked


def advance_version(policy: Policy, now: datetime) -> None:
    """Make the changed policy its next version, in memory. Raises ValidationFailed if one of its tests fails."""
    require_passing_tests(policy)
    policy.version += 1
    policy.updated = now


@transaction.atomic
def rollback_policy(policy: Policy, version: int) -> Policy:
    """Store a new version equal to the given one, even if the latest is equal too.

    Raises ValidationFailed if the policy has no such version, or one of that version's tests now fails.
    """
    revision = PolicyRevision.objects.filter(policy=policy, version=version).first()
    if revision is None:
        raise ValidationFailed(f"This policy has no version {version}.", param="version")
    locked = lock_policy(policy)
    before = locked.audited()
    change_terms(locked, {name: getattr(revision, name) for name in VERSIONED})
    return write_version(locked, before, "policy.rolled_back")


def uses_of(policy: Policy) -> list[str]:
    """Return a sentence about the items that link to the policy, and one about the sites."""
    uses = []
    links = policy.content.of(policy.account_id).count()
    if links:
        subject = "1 content item still links" if links == 1 else f"{links} content items still link"
        uses.append(f"{subject} to this policy.")
    hosts = list(policy.site_rules.order_by("site__host").values_list("site__host", flat=True).distinct())
    if len(hosts) == 1:
        uses.append(f"The site {hosts[0]} still has rules with this policy.")
    elif hosts:
        further = f" and {len(hosts) - MAX_NAMED} more" if len(hosts) > MAX_NAMED else ""
        uses.append(f"The sites {', '.join(hosts[:MAX_NAMED])}{further} still have rules with this policy.")
    return uses


@transaction.atomic
def delete_policy(policy: Policy) -> None:
    """Soft-delete the policy. Raises InUse while content or a site links to it."""
    locked = Policy.objects.select_for_update().get(pk=policy.pk)
    if locked.deleted_at is not None:
        return
    uses = uses_of(locked)
    if uses:
        raise InUse(" ".join(uses))
    locked.deleted_at = timezone.now()
    locked.save(update_fields=["deleted_at"])
    audit.record("policy.deleted", locked, locked.audited(), {})
