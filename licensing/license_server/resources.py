"""Resources that tokens are requested for: pages of a site and their published terms."""

from collections.abc import Iterator, Mapping
from itertools import chain
from urllib.parse import urlsplit
from xml.etree import ElementTree

from msgspec import Struct

from kit.values.hosts import PORT, host_of_header
from licensing.access.lookup.items import find_pages
from licensing.access.lookup.pages import page_by_rule
from licensing.access.subjects import Item
from licensing.edge.publishing.careless_parsers import arrange
from licensing.edge.publishing.documents import terms_of_site
from licensing.edge.publishing.promises import READ, always_allows
from licensing.edge.publishing.published_patterns import pattern_spellings
from licensing.edge.publishing.published_terms import Terms, terms_for
from licensing.edge.publishing.rsl import NAMESPACE, render_licenses
from licensing.sites.lookup import is_own_host
from licensing.sites.models import Site, at_hosts
from licensing.sites.pages import requested_page

MAX_RESOURCE = 2048 + 300  # characters: origin and pattern
MAX_LICENSE = 16 * 1024
MAX_AUDIENCE = 1_600  # characters of a whole site's. Its token has up to 3,600; browsers keep cookies of up to 4,096
WHOLE_SITE = "/*"


class Unpublished(Exception):
    """The resource has no published terms that a token could be for."""

    def __init__(self, message: str = "No terms are published of this resource.") -> None:
        super().__init__(message)


class HostUnverified(Exception):
    """Another account has a site for the resource's host, and this account has not verified it."""


class Resource(Struct, frozen=True):
    """The requested pages, represented by an item for each pattern; `is_pattern` if there may be many.

    `licenses` are the published ones, as XML.
    """

    audience: tuple[str, ...]
    items: tuple[Item, ...]
    licenses: list[str]
    is_pattern: bool

    def has_license(self, text: str) -> bool:
        """Whether the text equals a published licence as XML."""
        published_licenses = {
            canonical(f'<license xmlns="{NAMESPACE}">{license_}</license>') for license_ in self.licenses
        }
        requested_license = canonical(text)
        return requested_license is not None and requested_license in published_licenses


def canonical(text: str) -> str | None:
    """Return the canonical form of XML (Canonical XML 2.0); None if it is invalid or has a document type."""
    if len(text) > MAX_LICENSE or "<!" in text:
        return None
    try:
        return ElementTree.canonicalize(text, strip_text=True, rewrite_prefixes=True)
    except (ElementTree.ParseError, ValueError):
        return None


def find_resource(account_id: str, url: str) -> Resource:
    """Return the page or pattern of the account's sites that `url` names; with the path `/*` the whole site.

    A token names its host to whoever verifies it offline. So an account that has not proven the host gets none while
    another account has a site for it. Raises Unpublished and HostUnverified.
    """
    netloc, host = split_netloc(url)
    site = find_site(account_id, host)
    hosts = site.token_hosts
    if host not in hosts:
        raise HostUnverified
    port = PORT.search(netloc)
    netlocs = [name if port is None else f"{name}{port[0]}".removesuffix(":") for name in hosts]
    requested = url.partition(netloc)[2].partition("#")[0] or "/"
    terms = terms_of_site(site)
    entries = {term.url: term for term in arrange(terms)}
    published = entries.get(requested)
    if published is not None and published.item is not None:
        return registered_page(account_id, published, netlocs, requested)
    if published is None and requested == WHOLE_SITE:
        return join_sections(list(restricted_sections(site, netlocs, entries)))
    rules = {text: rule for rule in site.ordered_rules for text in pattern_spellings(rule.pattern)}
    rule = rules.get(requested) or site.rule_table.most_specific(*requested_page(url).readings[0])
    resource_terms = published or terms_for(terms, requested)
    if resource_terms is None or (rule is None and resource_terms.item is None):
        raise Unpublished
    is_pattern = requested in rules
    item = page_by_rule(site, rule, url) if is_pattern else find_pages(account_id, [url])[url]
    return Resource(
        audience=token_audience(netlocs, requested, is_pattern=is_pattern),
        items=(item,),
        licenses=render_licenses(resource_terms),
        is_pattern=is_pattern,
    )


def split_netloc(url: str) -> tuple[str, str]:
    """Return the URL's network location and its host. Raises Unpublished if no site can have such a URL."""
    try:
        parts = urlsplit(url)
        host = host_of_header(parts.netloc)
    except ValueError:
        raise Unpublished from None
    if len(url) > MAX_RESOURCE or parts.scheme not in ("http", "https") or host is None:
        raise Unpublished
    return parts.netloc, host


def find_site(account_id: str, host: str) -> Site:
    """Return the account's site for the host. Raises Unpublished."""
    sites = Site.objects.filter(at_hosts([host]), account_id=account_id)
    site = sites.prefetch_related("rules__policy", "aliases").first()
    if site is None or is_own_host(site.host):
        raise Unpublished
    return site


def registered_page(account_id: str, published: Terms, netlocs: list[str], requested: str) -> Resource:
    """Return the page of the item with the published terms. Raises Unpublished if it has been deleted since."""
    source = published.item or ""
    item = find_pages(account_id, [source]).get(source)
    if item is None:
        raise Unpublished
    return Resource(
        audience=token_audience(netlocs, requested.removesuffix("$"), is_pattern=False),
        items=(item,),
        licenses=render_licenses(published),
        is_pattern=False,
    )


def restricted_sections(site: Site, netlocs: list[str], entries: Mapping[str, Terms]) -> Iterator[Resource]:
    """Yield the site's published patterns whose pages not everybody may read."""
    for rule in site.ordered_rules:
        pattern = pattern_spellings(rule.pattern)[0]
        item = page_by_rule(site, rule, f"https://{site.host}{pattern}")
        if pattern in entries and item.policy is not None and not always_allows(item.policy, READ):
            audience = token_audience(netlocs, pattern, is_pattern=True)
            yield Resource(audience, (item,), render_licenses(entries[pattern]), is_pattern=True)


def join_sections(sections: list[Resource]) -> Resource:
    """Return the sections as one resource. Raises Unpublished if there are none, or too many for a token."""
    if not sections:
        raise Unpublished
    audience = dict.fromkeys(chain.from_iterable(section.audience for section in sections))
    if sum(map(len, audience)) > MAX_AUDIENCE:
        raise Unpublished("The site has too many sections for one token. Ask for one of its patterns.")
    return Resource(
        audience=tuple(audience),
        items=tuple(chain.from_iterable(section.items for section in sections)),
        licenses=list(chain.from_iterable(section.licenses for section in sections)),
        is_pattern=True,
    )


def token_audience(netlocs: list[str], pattern: str, *, is_pattern: bool) -> tuple[str, ...]:
    """Return the audience of a token for the resource: URL prefixes up to the first wildcard."""
    path = pattern
    if is_pattern:
        path, wildcard, _ = pattern.removesuffix("$").partition("*")
        if wildcard:
            path = path[: path.rindex("/")]
    path = path.partition("?")[0].rstrip("/")
    return tuple(f"{scheme}://{netloc}{path}" for netloc in netlocs for scheme in ("https", "http"))
