"""Compiled policies, cached in this process."""

from collections.abc import Iterable

from django.db.models import F
from django.db.models.fields.tuple_lookups import Tuple, TupleIn

from kit.bounded_cache import BoundedCache
from kit.storage.postgresql.timelines import empty_on_promotion
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.models import PolicyRevision
from licensing.policies.rules import parse_rules

OF_REVISION = ("policy_id", "version", "default_action", "rules", "mode")  # columns needed to compile a revision
MAX_COMPILED = 32 * 1024 * 1024  # bytes of compiled policies in memory

Revision = tuple[str, int]  # (policy id, version)


def read_policies(wanted: Iterable[Revision]) -> dict[Revision, CompiledPolicy]:
    """Read and compile these revisions in one query, without the cache."""
    revisions = sorted(wanted)
    if not revisions:
        return {}
    key = Tuple(F("policy_id"), F("version"))
    return {
        (row.policy_id, row.version): CompiledPolicy.of(
            row.policy_id, row.version, row.default_action, parse_rules(row.rules), row.mode
        )
        for row in PolicyRevision.objects.only(*OF_REVISION).filter(TupleIn(key, revisions))
    }


class CompiledPolicies:
    """Cache of compiled policy revisions, for checks.

    Erasure rewrites revisions in place, but then stores each policy's current terms as a new version. Former versions
    in this cache may be outdated: recorded decisions use `read_policies`.
    """

    def __init__(self) -> None:
        self.cached: BoundedCache[Revision, CompiledPolicy] = BoundedCache(lambda policy: policy.size, MAX_COMPILED)

    def get(self, wanted: Iterable[Revision]) -> dict[Revision, CompiledPolicy]:
        """Return all of these revisions; one query reads those that are not cached."""
        asked = set(wanted)
        found = {revision: known for revision in asked if (known := self.cached.get(revision)) is not None}
        missing = asked - found.keys()
        for revision, compiled in read_policies(missing).items():
            found[revision] = compiled
            self.cached.put(revision, compiled)
        return found

    def one(self, revision: Revision) -> CompiledPolicy:
        return self.get([revision])[revision]


compiled_policies = CompiledPolicies()
empty_on_promotion(compiled_policies.cached.clear)
