"""Compiled policies, cached in this process."""

from collections.abc import Iterable

from django.db.models import F
from django.db.models.fields.tuple_lookups import Tuple, TupleIn

from kit.bounded_cache import BoundedCache
from licensing.policies.decision import CompiledPolicy
from licensing.policies.models import PolicyRevision
from licensing.policies.rules import parse_rules

OF_REVISION = ("policy_id", "version", "default_action", "rules", "mode")  # columns needed to compile a revision
MAX_COMPILED = 32 * 1024 * 1024  # bytes of compiled policies in memory

Revision = tuple[str, int]  # (policy id, version)


class NotCached(Exception):
    """The policy has to be read from the database."""


class CompiledPolicies:
    """Cache of compiled policy revisions. Revisions never change, so entries never go stale."""

    def __init__(self) -> None:
        self.cached: BoundedCache[Revision, CompiledPolicy] = BoundedCache(lambda policy: policy.size, MAX_COMPILED)

    def get(self, wanted: Iterable[Revision]) -> dict[Revision, CompiledPolicy]:
        """Return all of these revisions; one query reads those that are not cached."""
        asked = set(wanted)
        found = {revision: known for revision in asked if (known := self.cached.get(revision)) is not None}
        missing = asked - found.keys()
        if missing:
            key = Tuple(F("policy_id"), F("version"))
            for row in PolicyRevision.objects.only(*OF_REVISION).filter(TupleIn(key, sorted(missing))):
                compiled = CompiledPolicy.of(
                    row.policy_id, row.version, row.default_action, parse_rules(row.rules), row.mode
                )
                found[row.policy_id, row.version] = compiled
                self.cached.put((row.policy_id, row.version), compiled)
        return found

    def one(self, revision: Revision) -> CompiledPolicy:
        return self.get([revision])[revision]

    def cached_one(self, revision: Revision) -> CompiledPolicy:
        """Raises NotCached if the revision has to be read first."""
        found = self.cached.get(revision)
        if found is None:
            raise NotCached
        return found


compiled_policies = CompiledPolicies()
