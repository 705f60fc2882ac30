"""Documents and headers that state a site's terms for crawlers, from its policies: RSL 1.0, robots.txt, TDMRep."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from xml.sax.saxutils import quoteattr

import orjson
from django.conf import settings
from django.db.models import Q

from accounts.keys.authentication import find_grant
from accounts.models import Unknown
from accounts.plans.epochs import current_epoch
from kit import statements
from kit.bounded_cache import BoundedCache
from kit.http.errors import InvalidApiKey, ServiceUnavailable
from kit.storage.postgresql.timelines import empty_on_promotion
from kit.values.decimals import from_millionths, plain
from kit.values.pages import RegisteredPage
from licensing.access.lookup.pages import compiled_policies
from licensing.content.models import Content, Status
from licensing.edge.publishing.careless_parsers import arrange, entries_for_licensees
from licensing.edge.publishing.current_terms import CurrentTerms
from licensing.edge.publishing.promises import MINING, PAYMENT, USES
from licensing.edge.publishing.publication import Publication
from licensing.edge.publishing.published_terms import Terms
from licensing.edge.publishing.robots_txt import robots, signalled, usage
from licensing.edge.publishing.terms import Item, terms_of
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.rules import Price
from licensing.sites.lookup import is_own_host
from licensing.sites.models import Site, at_hosts

NAMESPACE = "https://rslstandard.org/rsl"
ROWS = 5_000  # of items in memory at a time
CURRENCIES = "http://cvx.iptc.org/iso4217a/"  # IRIs of currencies, for ODRL
MAX_AGE_DAYS = 1
NAMES_IN_RSL = {"search": "search", "ai_index": "ai-index", "ai_input": "ai-input", "ai_training": "ai-train"}


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


# Matches hosts in unusual spellings: with userinfo, escapes or another script.
UNUSUAL_HOST = r"^https?://[^/]*[^a-z0-9.:/-]"


def terms_of_site(site: Site) -> list[Terms]:
    """Return the terms of the site's patterns. Raises ServiceUnavailable while the first ones are computed."""
    return current_terms.get(site.account_id, site.pk, current_epoch(site.account_id))


def compute_terms(site_id: str) -> list[Terms]:
    """Compute the terms of a site. Goes on if the client leaves, because the next one needs them, too."""
    with statements.for_several_clients(settings.HEAVY_STATEMENT_SECONDS):
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


def rsl(publication: Publication) -> bytes | None:
    """Render the RSL document; None without terms, because a document without any page would be invalid.

    Pages without a matching pattern are left out, and so are not licensed.
    """
    if not publication.terms:
        return None
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<rsl xmlns="{NAMESPACE}" max-age="{MAX_AGE_DAYS}">')
    entries = arrange(publication.terms)
    for_licensees = entries_for_licensees(entries)
    for one in entries:
        server = ""
        if publication.server is not None and one.url in for_licensees:
            server = f" server={quoteattr(publication.server)}"
        lines.append(f" <content url={quoteattr(f'https://{publication.netloc}{one.url}')}{server}>")
        lines += [f"  <license>{terms}</license>" for terms in license_terms(one)]
        lines.append(" </content>")
    return "\n".join([*lines, "</rsl>", ""]).encode()


def license_terms(terms: Terms) -> list[str]:
    """Render the content of RSL's `license` elements: one for the free uses, then one for each price."""
    free = [use for use in USES if use in terms.uses]
    offered: dict[Price, list[str]] = defaultdict(list)
    for use, price in terms.prices.items():
        offered[price].append(use)
    if not free and not offered:
        return ['<prohibits type="usage">all</prohibits>']
    return [
        *([permits(free)] if free else []),
        *(permits(uses) + payment(price) for price, uses in offered.items()),
    ]


def permits(uses: Sequence[str]) -> str:
    return f'<permits type="usage">{" ".join(NAMES_IN_RSL[use] for use in uses)}</permits>'


def payment(price: Price) -> str:
    amount = plain(from_millionths(price.amount))
    return f'<payment type="crawl"><amount currency="{price.currency}">{amount}</amount></payment>'


def tdmrep(publication: Publication) -> bytes | None:
    """Render TDMRep; None without terms. The first matching location applies.

    Mining is reserved unless both training and input are promised. Where a licence or payment allows it, the location
    links to the policy.
    """
    if not publication.terms:
        return None
    locations = []
    for one in publication.terms:
        location: dict[str, object] = {"location": one.url, "tdm-reservation": int(is_reserved(one))}
        if is_reserved(one) and one.duties:
            location["tdm-policy"] = f"https://{publication.netloc}{TDM_POLICY}"
        locations.append(location)
    if not publication.covers_every_page:
        locations.append({"location": "/", "tdm-reservation": 1})
    return orjson.dumps(locations)


def is_reserved(terms: Terms) -> bool:
    return not terms.uses >= MINING


def tdm_policy(publication: Publication) -> bytes | None:
    """Render the ODRL offer for pages where a licence or payment allows mining; None if there are none."""
    permissions = [
        {
            "target": f"https://{publication.netloc}{one.url}",
            "action": "tdm:mine",
            "duty": odrl_duties(one),
        }
        for one in publication.terms
        if is_reserved(one) and one.duties
    ]
    if not permissions:
        return None
    return orjson.dumps(
        {
            "@context": ["http://www.w3.org/ns/odrl.jsonld", "http://www.w3.org/ns/tdmrep.jsonld"],
            "@type": "Offer",
            "profile": "http://www.w3.org/ns/tdmrep",
            "uid": f"https://{publication.netloc}{TDM_POLICY}",
            "assigner": {
                "uid": f"https://{publication.netloc}/",
                "vcard:fn": publication.publisher,
                "vcard:hasURL": f"https://{publication.netloc}/license.xml",
            },
            "permission": permissions,
        }
    )


def odrl_duties(terms: Terms) -> list[dict[str, object]]:
    """Return the duties under which mining is permitted: paying the price if it is published."""
    price = terms.mining_price
    if price is None:
        return [{"action": duty} for duty in terms.duties]
    amount = {
        "leftOperand": "payAmount",
        "operator": "eq",
        "rightOperand": {"@value": plain(from_millionths(price.amount)), "@type": "xsd:decimal"},
        "unit": f"{CURRENCIES}{price.currency}",
    }
    return [{"action": [{"rdf:value": {"@id": f"odrl:{PAYMENT}"}, "refinement": [amount]}]}]


TDM_POLICY = "/.well-known/tdm-policy.json"
Writer = Callable[[Publication], bytes | None]  # None if the document would be empty
DOCUMENTS: dict[str, tuple[Writer, str]] = {
    "/license.xml": (rsl, "application/rsl+xml"),
    "/robots.txt": (robots, "text/plain; charset=utf-8"),
    "/.well-known/tdmrep.json": (tdmrep, "application/json"),
    TDM_POLICY: (tdm_policy, "application/json"),
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
    stated = usage(signalled(terms.uses), terms.refused)
    return {"Content-Usage": stated, **shown} if stated else shown
