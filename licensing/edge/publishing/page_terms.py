"""The headers with the terms of a page: AIPREF's Content-Usage, and TDMRep. They state what its policy promises."""

from kit.bounded_cache import BoundedCache
from kit.storage.postgresql.timelines import empty_on_promotion
from licensing.edge.publishing.documents import TDM_POLICY, is_reserved
from licensing.edge.publishing.published_terms import Terms
from licensing.edge.publishing.robots_group import signalled, usage
from licensing.policies.compiled import CompiledPolicy

MAX_KEPT = 10_000  # revisions of policies
terms_of_revisions: BoundedCache[tuple[str | None, int | None], Terms] = BoundedCache(lambda _: 1, MAX_KEPT)
empty_on_promotion(terms_of_revisions.clear)


def terms_of_policy(policy: CompiledPolicy) -> Terms:
    """Return the terms of a policy's revision, derived once."""
    known = terms_of_revisions.get((policy.id, policy.version))
    if known is None:
        known = Terms.from_policy(policy)
        terms_of_revisions.put((policy.id, policy.version), known)
    return known


def terms_headers(policy: CompiledPolicy | None, origin: str) -> dict[str, str]:
    """Return the headers for a page of the policy, at this origin (scheme, host and port)."""
    if policy is None:
        return {}
    terms = terms_of_policy(policy)
    shown = {"tdm-reservation": str(int(is_reserved(terms)))}
    if is_reserved(terms) and terms.duties:
        shown["tdm-policy"] = f"{origin}{TDM_POLICY}"
    stated = usage(signalled(terms.uses), terms.refused)
    return {"Content-Usage": stated, **shown} if stated else shown
