"""Published RSL is valid RSL 1.0, by a RELAX NG schema of its elements.

Skipped without lxml, which .ci/run installs; required in CI.
"""

import os
from pathlib import Path

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from licensing.edge.publishing.publication import Publication
from licensing.edge.publishing.rsl import write_rsl
from licensing.edge.publishing.terms import terms_of
from licensing.sites.patterns import compile_pattern
from tests import factories
from tests.edge.published import ITEMS, PATTERNS, POLICIES
from tests.examples import examples

try:
    from lxml import etree
except ImportError:
    if os.environ.get("CI"):
        raise
    pytest.skip("No test of RSL's schema ran: lxml is not installed.", allow_module_level=True)

SCHEMA = etree.RelaxNG(file=str(Path(__file__).with_name("rsl.rng")))
NAMESPACE = "{https://rslstandard.org/rsl}"
# The example of the Recommendation's guide, with everything that it shows.
EXAMPLE = """<rsl xmlns="https://rslstandard.org/rsl" max-age="7">
 <content url="/articles/*" server="https://licensing.example.com/olp" lastmod="2026-11-01T00:00:00Z">
  <license><permits type="usage">search ai-input</permits><prohibits type="usage">ai-train</prohibits>
   <payment type="crawl"><custom>https://example.com/licensing</custom><amount currency="USD">0.015</amount></payment>
   <legal type="contact">licensing@example.com</legal></license>
  <copyright type="organization" contactEmail="licensing@example.com">Example Media</copyright></content></rsl>"""


def problems(document):
    """Return a document's schema errors; empty if valid."""
    root = etree.fromstring(document)
    if not SCHEMA.validate(root):
        return [str(error) for error in SCHEMA.error_log]
    twice = []
    for license in root.iter(f"{NAMESPACE}license"):  # noqa: A001
        for name in ("permits", "prohibits", "legal"):
            types = [one.get("type") for one in license.findall(f"{NAMESPACE}{name}")]
            twice += [f"{name} {type_} twice" for type_ in set(types) if types.count(type_) > 1]
    encrypted = [one for one in root.iter(f"{NAMESPACE}content") if one.get("encrypted") == "true"]
    return twice + [f"{one.get('url')} without a server" for one in encrypted if not one.get("server")]


def test_the_schema_takes_the_example_of_the_standard_and_refuses_invalid_rsl():
    assert problems(EXAMPLE) == []
    for given_, broken in [
        ('url="/articles/*"', ""), ("search ai-input", "search, ai-input"), ("search ai-input", "inference"),
        ('type="crawl"', 'type="pay"'), (' currency="USD"', ""), ("0.015", "cheap"), ("<legal ", "<lawful "),
        ('server="https://', 'server="http://'), ('lastmod="2026-11-01T00:00:00Z"', 'lastmod="yesterday"'),
        ('<prohibits type="usage">ai-train</prohibits>', '<permits type="usage">ai-train</permits>'),
        ('lastmod="2026-11-01T00:00:00Z"', 'licence="x"'),
    ]:  # fmt: skip
        assert given_ in EXAMPLE
        document = EXAMPLE.replace(given_, broken).replace(
            "</legal>", "</lawful>" if "lawful" in broken else "</legal>"
        )
        assert problems(document)
    assert problems(EXAMPLE.replace("<license>", '<x:a xmlns:x="urn:x" b="c"><x:d/></x:a><license>')) == []


def test_served_documents_are_valid(account, settings):
    settings.BASE_URL = "https://licensing.example"
    factories.site(
        account,
        {
            "/open/*": factories.policy(account, factories.ALLOW_ALL),
            "/premium/*": factories.policy(account),
            "/x$": None,
        },
        host="pub.example",
    )
    document = Client().get("/license.xml", headers={"Host": "pub.example"}).content
    assert problems(document) == []
    assert b'server="https://licensing.example/olp"' in document


@given(
    st.lists(st.tuples(PATTERNS, POLICIES), max_size=5, unique_by=lambda pair: compile_pattern(pair[0])),
    ITEMS,
    st.sampled_from([None, "https://licensing.example/olp"]),
)
@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
def test_random_policies_are_published_as_valid_rsl(rules, items, server):
    document = write_rsl(Publication("pub.example", terms_of(rules, items), "Example Media", server))
    assert document is None or problems(document) == []
