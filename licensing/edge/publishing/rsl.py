"""Writes a site's terms as RSL 1.0 (https://rslstandard.org/rsl): /license.xml."""

from collections import defaultdict
from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from kit.values.decimals import from_millionths, plain
from licensing.crawler_classes import NAMES_IN_RSL, USES
from licensing.edge.publishing.careless_parsers import arrange, entries_for_licensees
from licensing.edge.publishing.publication import Publication
from licensing.edge.publishing.published_terms import Terms
from licensing.policies.rules import Price

NAMESPACE = "https://rslstandard.org/rsl"
MAX_AGE_DAYS = 1


def write_rsl(publication: Publication) -> bytes | None:
    """Render the RSL document; None without terms, because a document without any page would be invalid.

    Pages without a matching pattern are left out, and so are not licensed.
    """
    if not publication.terms:
        return None
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<rsl xmlns="{NAMESPACE}" max-age="{MAX_AGE_DAYS}">')
    entries = arrange(publication.terms)
    for_licensees = entries_for_licensees(entries)
    for entry in entries:
        server = ""
        if publication.server is not None and entry.url in for_licensees:
            server = f" server={quoteattr(publication.server)}"
        lines.append(f" <content url={quoteattr(f'https://{publication.netloc}{entry.url}')}{server}>")
        lines += [f"  <license>{terms}</license>" for terms in render_licenses(entry)]
        lines.append(" </content>")
    return "\n".join([*lines, "</rsl>", ""]).encode()


def render_licenses(terms: Terms) -> list[str]:
    """Render the content of RSL's `license` elements: one for the free uses, then one for each price."""
    free = [use for use in USES if use in terms.uses]
    offered: dict[Price, list[str]] = defaultdict(list)
    for use, price in terms.prices.items():
        offered[price].append(use)
    if not free and not offered:
        return ['<prohibits type="usage">all</prohibits>']
    return [
        *([render_permits(free)] if free else []),
        *(render_permits(uses) + render_payment(price) for price, uses in offered.items()),
    ]


def render_permits(uses: Sequence[str]) -> str:
    return f'<permits type="usage">{" ".join(NAMES_IN_RSL[use] for use in uses)}</permits>'


def render_payment(price: Price) -> str:
    amount = plain(from_millionths(price.amount))
    return f'<payment type="crawl"><amount currency="{price.currency}">{amount}</amount></payment>'
