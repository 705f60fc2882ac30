import pytest

from tests import factories
from tests.edge.asking import LICENSED, READERS, event


@pytest.fixture
def visits(ask, account, site, api_of):
    """Request three pages; return a function that lists their paths by a decision filter."""
    site(READERS)
    factories.site(account, {"/": factories.policy(account, LICENSED)}, host="other.example")
    hosts = {"/premium/a": "pub.example", "/premium/b": "pub.example", "/x": "other.example"}
    made = {ask(uri, x_forwarded_host=host).headers["X-Access-Id"]: uri for uri, host in hosts.items()}
    api = api_of(account)
    return lambda **query: sorted(made[one["id"]] for one in api.get("/v1/access/decisions", **query)["data"])


def test_a_recorded_visit_shows_page_site_and_identification(ask, site, account, api_of, api):
    made = site(READERS)
    reply = ask("//premium/./%61?token=secret", x_forwarded_host="PUB.example:8443")
    shown = api_of(account).get(f"/v1/access/decisions/{reply.headers['X-Access-Id']}").body
    known = (shown["url"], shown["siteId"], shown["identifiedBy"])
    assert known == ("https://pub.example/premium/a", made.pk, "nothing")
    assert "secret" not in str(event(reply).facts)
    site(READERS)
    reply = ask("/a", x_forwarded_host="unknown.example")
    shown = api_of(account).get(f"/v1/access/decisions/{reply.headers['X-Access-Id']}").body
    assert (shown["url"], shown["siteId"]) == ("https://unknown.example/a", None)
    content = api.post("/v1/content", {"title": "A", "type": "article"})["id"]
    decided = api.post("/v1/access/check", {"contentId": content, "requester": "org_acme"})
    assert {"url", "siteId", "identifiedBy"} & api.get(f"/v1/access/decisions/{decided['id']}").body.keys() == set()


def test_decisions_are_filtered_by_page_site_and_identification(visits, account):
    for query, found in [
        ({"url": "https://pub.example/premium/a"}, ["/premium/a"]),
        ({"url[prefix]": "https://pub.example/premium/"}, ["/premium/a", "/premium/b"]),
        ({"url[prefix]": "https://PUB.example/"}, []),
        ({"url[in]": "https://pub.example/premium/a,https://other.example/x"}, ["/premium/a", "/x"]),
        ({"identifiedBy": "nothing", "allowed": "false"}, ["/x"]),
        ({"identifiedBy": "signature"}, []),
    ]:
        assert visits(**query) == found
    [other] = account.sites.filter(host="other.example")
    assert visits(siteId=other.pk) == ["/x"]
