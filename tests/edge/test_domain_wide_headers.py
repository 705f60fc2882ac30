"""Replies that proxies pass on under a publisher's host say nothing about that whole host."""

import pytest
from django.test import Client

from tests import factories
from tests.edge.asking import READERS
from tests.edge.refusals import DENY

DOMAIN_WIDE = {"strict-transport-security", "cross-origin-opener-policy", "referrer-policy"}


@pytest.mark.parametrize(
    "path", ["/license.xml", "/robots.txt", "/.well-known/tdmrep.json", "/.well-known/tdm-policy.json"]
)
def test_documents_and_errors_in_their_place_have_no_headers_for_the_whole_host(account, path):
    factories.site(account, {"/premium/*": factories.policy(account)}, host="pub.example")
    factories.site(account, {}, host="no-terms.example")
    for headers in (
        {"Host": "pub.example"},
        {"Host": "nobodys.example"},
        {"Host": "no-terms.example"},
        {"Host": "pub.example", "X-Licensing-Key": "svc_sk_nope"},
    ):
        reply = Client().get(path, headers=headers, secure=True)
        assert (headers, DOMAIN_WIDE & {name.lower() for name in reply.headers}) == (headers, set())
        varies = {name.strip() for name in reply.headers["Vary"].split(",")}
        assert (headers, varies & {"Host", "X-Licensing-Key"}) == (headers, {"Host", "X-Licensing-Key"})
    own = Client().get("/v1/content", secure=True)
    assert {name.lower() for name in own.headers} >= DOMAIN_WIDE


def test_answers_to_proxies_have_none_because_some_pass_them_on(ask, site):
    for rule in (READERS, DENY):
        site(rule)
        for accept in ("*/*", "text/html"):
            reply = ask("/premium/a", x_forwarded_proto="https", accept=accept)
            assert {name.lower() for name in reply.headers} & DOMAIN_WIDE == set()
            assert reply.headers["X-Content-Type-Options"] == "nosniff"
