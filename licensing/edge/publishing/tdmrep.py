"""Writes a site's terms as TDMRep, and its policy for text and data mining as an ODRL offer (W3C TDMRep)."""

import orjson

from kit.values.decimals import from_millionths, plain
from licensing.crawler_classes import MINING
from licensing.edge.publishing.promises import PAYMENT
from licensing.edge.publishing.publication import Publication
from licensing.edge.publishing.published_terms import Terms

TDM_POLICY = "/.well-known/tdm-policy.json"
CURRENCIES = "http://cvx.iptc.org/iso4217a/"  # IRIs of currencies, for ODRL


def write_tdmrep(publication: Publication) -> bytes | None:
    """Render TDMRep; None without terms. The first matching location applies.

    Mining is reserved unless both training and input are promised. Where a licence or payment allows it, the location
    links to the policy.
    """
    if not publication.terms:
        return None
    locations = []
    for terms in publication.terms:
        location: dict[str, object] = {"location": terms.url, "tdm-reservation": int(is_reserved(terms))}
        if is_reserved(terms) and terms.duties:
            location["tdm-policy"] = f"https://{publication.netloc}{TDM_POLICY}"
        locations.append(location)
    if not publication.covers_every_page:
        locations.append({"location": "/", "tdm-reservation": 1})
    return orjson.dumps(locations)


def is_reserved(terms: Terms) -> bool:
    return not terms.uses >= MINING


def write_tdm_policy(publication: Publication) -> bytes | None:
    """Render the ODRL offer for pages where a licence or payment allows mining; None if there are none."""
    permissions = [
        {
            "target": f"https://{publication.netloc}{terms.url}",
            "action": "tdm:mine",
            "duty": odrl_duties(terms),
        }
        for terms in publication.terms
        if is_reserved(terms) and terms.duties
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
