"""Documents and headers that state a site's terms for crawlers, from its policies: RSL 1.0, robots.txt, TDMRep."""

from collections.abc import Callable, Iterator
from hashlib import blake2b

from django.conf import settings
from django.db.models import Q

from accounts.keys.authentication import find_grant
from accounts.models import Unknown
from accounts.plans.epochs import current_epoch
from kit import statement_timeout
from kit.bounded_cache import BoundedCache
from kit.http.errors import InvalidApiKey, ServiceUnavailable
from kit.storage.postgresql.timelines import empty_on_promotion
from kit.values.canonical_pages import RegisteredPage
from licensing.access.lookup.pages import compiled_policies
from licensing.content.models import Content, Status
from licensing.crawler_classes import MINING, NAMES_IN_USAGE
from licensing.edge.publishing.current_terms import CurrentTerms
from licensing.edge.publishing.publication import Publication
from licensing.edge.publishing.published_terms import Terms
from licensing.edge.publishing.robots_txt import render_usage, signalled, write_robots
from licensing.edge.publishing.rsl import write_rsl
from licensing.edge.publishing.tdmrep import TDM_POLICY, is_reserved, write_tdm_policy, write_tdmrep
from licensing.edge.publishing.terms import Item, terms_of
from licensing.policies.compiled import CompiledPolicy
from licensing.sites.lookup import is_own_host
from licensing.sites.models import Site, at_hosts

ROWS = 5_000  # of items in memory at a time
UNUSUAL_HOST = r"^https?://[^/]*[^a-z0-9.:/-]"  # with userinfo, escapes or another script


def site_at(host: str, key: str | None) -> Site | None:
    """Return the site whose documents are served at a host or alias: the one of the key's account.

    Without a key it is the site that was verified first or, if none is verified, the only one. Several unverified
    sites give None, so that nobody publishes terms for another account's host. Aliases count as unverified. None, too,
    for the service's own host. Raises ServiceUnavailable if the key is unknown.
    """
    if is_own_host(host):  # of a site that was stored before the service had the name
        return None
    named = Site.objects.filter(at_hosts([host])).select_related("account")
    sites = named.prefetch_related("rules__policy", "aliases")
    if key is not None:
        try:
            return sites.filter(account_id=find_grant(key).account_id).first()
        except InvalidApiKey:  # an outage, as for the proxy's questions, which log why the key is refused
            raise ServiceUnavailable("The proxy's X-Licensing-Key is refused.") from None
    verified = sites.filter(host=host, verified_at__isnull=False).order_by("verified_at", "pk").first()
    if verified is not None:
        return verified
    unverified = list(sites[:2])
    return unverified[0] if len(unverified) == 1 else None


def terms_of_site(site: Site) -> list[Terms]:
    """Return the terms of the site's patterns. Raises ServiceUnavailable while the first ones are computed."""
    return current_terms.get(site.account_id, site.pk, current_epoch(site.account_id))


def compute_terms(site_id: str) -> list[Terms]:
    """Compute the terms of a site. Goes on if the client leaves, because the next one needs them, too."""
    with statement_timeout.for_several_clients(settings.HEAVY_STATEMENT_SECONDS):
        site = Site.objects.prefetch_related("rules__policy").get(pk=site_id)
        denies_unknown = site.unknown == Unknown.DENY
        return terms_of(
            compiled_rules(site), registered_items(site), settings.SAME_PAGE, denies_unknown=denies_unknown
        )


current_terms = CurrentTerms(compute_terms)
empty_on_promotion(current_terms.clear)


def registered_items(site: Site) -> Iterator[Item]:
    """Yield the items at the site's hosts; of several at one page the last decides (licensing.sites.pages)."""
    may_be_here = Q(source__iregex=UNUSUAL_HOST)
    for host in site.hosts:
        may_be_here |= Q(source__istartswith=f"http://{host}") | Q(source__istartswith=f"https://{host}")
    items = Content.objects.of(site.account_id).filter(may_be_here)
    linked = items.order_by().values_list("policy_id", "policy__version").distinct()
    policies = compiled_policies.get({(policy, version) for policy, version in linked if policy is not None})
    # Active ones last, since "archived" sorts after "active".
    rows = items.order_by("-status", "created", "pk").values_list("source", "status", "policy_id", "policy__version")
    for source, status, policy, version in rows.iterator(ROWS):
        page = RegisteredPage.from_url(source or "", settings.SAME_PAGE)
        if page.host in site.hosts:
            yield Item(source or "", page, policies.get((policy, version)) if status == Status.ACTIVE else None)


def policies_by_id(site: Site) -> dict[str | None, CompiledPolicy]:
    """Return the policies of the site's patterns by id."""
    wanted = {(rule.policy.pk, rule.policy.version) for rule in site.ordered_rules if rule.policy is not None}
    return {policy.id: policy for policy in compiled_policies.get(wanted).values()}


def compiled_rules(site: Site) -> list[tuple[str, CompiledPolicy | None]]:
    """Return the site's patterns with their policies, in the given order."""
    policies = policies_by_id(site)
    return [(rule.pattern, policies.get(rule.policy_id)) for rule in site.ordered_rules]


Writer = Callable[[Publication], bytes | None]  # None if the document would be empty
DOCUMENTS: dict[str, tuple[Writer, str]] = {
    "/license.xml": (write_rsl, "application/rsl+xml"),
    "/robots.txt": (write_robots, "text/plain; charset=utf-8"),
    "/.well-known/tdmrep.json": (write_tdmrep, "application/json"),
    TDM_POLICY: (write_tdm_policy, "application/json"),
}


def write_documents(publication: Publication) -> dict[str, bytes]:
    """Return the documents by path."""
    bodies = ((path, write(publication)) for path, (write, _) in DOCUMENTS.items())
    return {path: body for path, body in bodies if body is not None}


def tag_of(body: bytes) -> str:
    return f'"{blake2b(body, digest_size=12).hexdigest()}"'


# --- Headers of pages ------------------------------------------------------------------------------------------------

MAX_REVISIONS = 10_000  # of policies, whose terms are kept
terms_of_revisions: BoundedCache[tuple[str | None, int | None], Terms] = BoundedCache(lambda _: 1, MAX_REVISIONS)
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
    stated = render_usage(signalled(terms.uses), terms.refused)
    return {"Content-Usage": stated, **shown} if stated else shown


def headers_beyond_terms(policy: CompiledPolicy | None, permission: str | None) -> dict[str, str]:
    """Return the headers for a visitor who was allowed a use that the terms refuse or reserve; empty for all others.

    Mining is not reserved towards such a visitor, but neither is it free for everybody, so TDMRep says nothing.
    """
    if policy is None or permission not in NAMES_IN_USAGE:
        return {}
    terms = terms_of_policy(policy)
    granted = frozenset({permission})
    if granted <= terms.uses or not granted <= MINING | terms.refused:
        return {}
    return {"Content-Usage": render_usage(signalled(terms.uses) | granted, terms.refused - granted)}
