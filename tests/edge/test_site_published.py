import pytest
from asgiref.sync import async_to_sync

from kit.outbound.client import Reply, Unreachable
from kit.outbound.destinations import DestinationRefused
from licensing.edge import site_published
from licensing.edge.publishing.documents import terms_of_site, write_documents
from licensing.edge.publishing.publication import Publication
from tests import factories

SERVER = "https://licensing.example/olp"
ROBOTS = b"User-agent: *\nLicense: https://pub.example/license.xml\nDisallow: /private\n"


@pytest.fixture
def told(account):
    rules = {"/free/*": factories.policy(account, factories.ALLOW_ALL), "/premium/*": factories.policy(account)}
    site = factories.site(account, rules, host="pub.example")
    return Publication("pub.example", terms_of_site(site), "Example Media", SERVER)


@pytest.fixture
def web(told):
    """The replies by URL, initially all correct. An exception is raised; a number is a status."""
    served = {f"https://pub.example{path}": body for path, body in write_documents(told).items()}
    return {**served, "https://pub.example/robots.txt": ROBOTS, f"{SERVER}/jwks.json": b'{"keys": []}'}


@pytest.fixture
def found(told, monkeypatch):
    """Return a function that returns the findings for these replies."""

    def found(web):
        async def fetch(url):
            body = web[url]
            if isinstance(body, Exception):
                raise body
            return Reply(body, {}, b"") if isinstance(body, int) else Reply(200, {}, body)

        monkeypatch.setattr(site_published, "fetch", fetch)
        return [(one.code, one.pattern) for one in async_to_sync(site_published.lint_published)(told)]

    return found


def test_nothing_is_found_where_all_is_as_it_should_be(found, web):
    assert found(web) == []
    elsewhere = web["https://pub.example/license.xml"].replace(SERVER.encode(), b"https://other.example/olp")
    assert found({**web, "https://pub.example/license.xml": elsewhere}) == []
    for failure in [404, 301, 500, Unreachable("There was no reply."), DestinationRefused("private")]:
        for url in ["https://pub.example/license.xml", "https://pub.example/robots.txt", f"{SERVER}/jwks.json"]:
            assert found({**web, url: failure}) == [("unreachable", "")]


def test_documents_that_differ_are_reported(found, web):
    for body in [b"<html>Not found</html>", b"\xff", b"", b"<rsl xmlns='https://rslstandard.org/rsl'/>"]:
        assert found({**web, "https://pub.example/license.xml": body}) == [("differs", "")]
    laxer = b'[{"location": "/", "tdm-reservation": 0}]'
    assert found({**web, "https://pub.example/.well-known/tdmrep.json": laxer}) == [("differs", "")]


def test_a_laxer_contradictory_or_incomplete_robots_txt_is_reported(found, web):
    for lines, findings in [
        (b"Content-Signal: search=no, ai-train=no", []),
        (b"Content-Signal: search=yes, ai-train=no", [("laxer_than_policy", "")]),
        (b"Content-Usage: train-ai=y", [("laxer_than_policy", "")]),
        (b"Content-Usage: /free/* train-ai=y", []),
        (b"Content-Usage: /premium/* train-ai=y # no", [("laxer_than_policy", "/premium/*")]),
        (b"Content-Usage: /elsewhere train-ai=y", [("laxer_than_policy", "/elsewhere")]),
        (b"Content-Signal: search=yes\nContent-Usage: search=n", [("laxer_than_policy", ""), ("contradiction", "")]),
    ]:
        assert found({**web, "https://pub.example/robots.txt": ROBOTS + lines}) == findings
    bare = b"User-agent: *\nDisallow: /private\n"
    assert found({**web, "https://pub.example/robots.txt": bare}) == [("license_not_named", "")]


def test_nothing_is_fetched_from_inside():
    for url in ["http://pub.example/license.xml", "https://127.0.0.1/x", "https://10.0.0.1/license.xml"]:
        with pytest.raises(DestinationRefused):
            async_to_sync(site_published.fetch)(url)
