from random import Random
from urllib.parse import quote

import hypothesis
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from licensing.content.models import Content
from tests import factories
from tests.edge.asking import LICENSED, READERS, event, told
from tests.edge.spellings import spelled_host, spelled_uri
from tests.examples import examples

CLOSED = ["/premium/a", "/premium/", "/free/closed", "/article?id=5", "/list?page=2&tag=x"]
SEEDS = st.integers(0, 2**32).map(Random)
many = hypothesis.settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def site(account):
    """A site where everything is open but /premium/* and the items in CLOSED."""
    shut, open_ = factories.policy(account, factories.DENY_ALL), factories.policy(account, READERS)
    rules = {"/*": open_, "/premium/*": shut, "/premium/sample": open_}
    factories.content(account, source="https://pub.example/article", policy_id=open_.pk)
    for uri in CLOSED[2:]:
        factories.content(account, source=f"https://pub.example{uri}", policy_id=shut.pk)
    return factories.site(account, rules, host="pub.example", unknown="allow")


@many
@given(chance=SEEDS)
def test_no_spelling_opens_a_closed_page(api, site, chance):
    """Over 5,000 spellings in CI, in batches: offers decide as the edge does."""
    uris = [chance.choice(CLOSED) for _ in range(100)]
    urls = [f"https://pub.example{quote(spelled_uri(chance, uri), safe=SAFE)}" for uri in uris]
    data = api.post("/v1/access/offers/batch", {"items": [{"url": url} for url in urls]})["data"]
    assert [url for url, one in zip(urls, data, strict=True) if one["allowed"]] == []


REFUSED = (402, 403)  # 403: there are too many readings to follow
SAFE = "/!$&'()*+,;=:@~?%\\"


@many
@given(chance=SEEDS)
def test_no_spelling_opens_a_closed_page_at_a_proxy(ask, raw, key, site, chance):
    uri, host = spelled_uri(chance, chance.choice(CLOSED)), spelled_host(chance, "pub.example")
    scheme = chance.choice(["http", "https"])
    assert (uri, ask(uri, x_forwarded_host=host, x_forwarded_proto=scheme).status in REFUSED) == (uri, True)
    assert (uri, raw(f"/v1/access/envoy{uri}", host=host, x_licensing_key=key).status in REFUSED) == (uri, True)


@many
@given(chance=SEEDS)
def test_no_spelling_opens_a_closed_item_in_a_check(api, site, chance):
    """A check finds an item only by equivalent URLs."""
    uris = [spelled_uri(chance, chance.choice(CLOSED[2:])) for _ in range(20)]
    urls = [quote(f"https://{spelled_host(chance, 'pub.example')}{uri}", safe=SAFE) for uri in uris]
    checks = [{"source": url, "requester": "anonymous", "permission": "read"} for url in urls]
    data = api.post("/v1/access/check/batch", {"checks": checks})["data"]
    assert [url for url, one in zip(urls, data, strict=True) if one["allowed"]] == []
    for check in checks[:3]:
        assert not api.post("/v1/access/check", check).body.get("allowed")


HOSTS = ["pub.example", "pub.example:8443", "pub.example:443", "PUB.example", "pub.example.", "Pub.Example.:80"]


@pytest.mark.parametrize("registered", ["pub.example", "pub.example:8443", "pub.example:443", "pub.example."])
def test_items_are_found_regardless_of_the_port(ask, raw, key, account, registered):
    shut, open_ = factories.policy(account, factories.DENY_ALL), factories.policy(account, READERS)
    factories.site(account, {"/*": open_}, host="pub.example")
    factories.content(account, source=f"http://{registered}/a", policy_id=shut.pk)
    for host in HOSTS:
        assert ask("/a", x_forwarded_host=host).status == 403, host
        assert raw("/v1/access/envoy/a", host=host, x_licensing_key=key).status == 403, host
        assert ask("/b", x_forwarded_host=host).status == 200, host


def test_an_item_with_a_query_is_found_only_with_it(ask, site):
    for uri in [
        "/article?id=5", "/article?x=1&id=5", "/article?&id=5", "//article?id=5", "/article?id=5&id=6",
        "/article?id=6&id=5", "/article?x=1;id=5", "/article?%69d=%35", "/article?id[]=5", "/article;x?id=5",
    ]:  # fmt: skip
        assert ask(uri).status == 403
    assert [ask(uri).status for uri in ("/article", "/article?id=6", "/article?x=5")] == [200, 200, 200]
    assert [ask(uri).status for uri in ("/list?page=2", "/list?tag=x&page=2")] == [200, 403]


def test_the_item_with_more_of_the_query_decides(ask, account):
    shut, open_ = factories.policy(account, factories.DENY_ALL).pk, factories.policy(account, READERS).pk
    for uri, policy in {"/a": shut, "/a?id=5": open_, "/a?id=5&page=2": shut}.items():
        factories.content(account, source=f"https://pub.example{uri}", policy_id=policy)
    asked = ["/a", "/a?id=6", "/a?id=5", "/a?utm=x&id=5", "/a?page=2&id=5", "/a?id=5&id=6", "/a?id=5;page=2"]
    assert [ask(uri).status for uri in asked] == [403, 403, 200, 200, 403, 403, 403]


def test_an_item_registered_under_that_very_url_decides_alone(ask, account):
    shut, open_ = factories.policy(account, factories.DENY_ALL), factories.policy(account, READERS)
    factories.site(account, {"/*": shut}, host="pub.example")
    for path in ("/map;id=5", "/wiki/C%23", "/100%2525"):
        factories.content(account, source=f"https://pub.example{path}", policy_id=open_.pk)
        assert (path, ask(path).status) == (path, 200)
    assert [ask(path).status for path in ("/map", "/map;id=6", "/wiki/C")] == [403, 403, 403]


def test_the_stricter_of_two_readings_is_recorded(ask, account, site):
    reply = ask("/free/..;/premium/a")
    assert told(reply) == (403, "deny", "policy_denied")
    assert (event(reply).content_id, event(reply).facts["pattern"]) == (site.pages_id, "/premium/*")
    assert event(ask("/free/closed;x")).content_id == Content.objects.get(source="https://pub.example/free/closed").pk


def test_a_price_is_not_avoided_by_another_spelling(ask, account):
    open_, licensed = factories.policy(account, READERS), factories.policy(account, LICENSED)
    factories.site(account, {"/*": open_}, host="pub.example")
    item = factories.content(account, source="https://pub.example/a", policy_id=licensed.pk)
    factories.license(account, "anonymous", per_access="0.50", content_ids=[item.pk])
    assert [ask(uri).headers.get("crawler-charged") for uri in ("/a", "/a;x", "/b")] == ["USD 0.50", "USD 0.50", None]


TOO_MANY_READINGS = {
    "parameters": "/x?" + "a&" * 1_000,
    "readings": "/x?" + "&".join(f"%2523{number}%255B=%2523{number}" for number in range(350)),
    "steps": "/" + "%2e%2e;/\\%00%09#?%252e" * 40,
    "length": "/" + "x;" * 1_500,
}


def test_a_url_with_too_many_readings_is_denied(ask, site):
    for name, uri in TOO_MANY_READINGS.items():
        reply = ask(uri)
        assert told(reply) == (403, "deny", "no_policy"), name
        assert event(reply).content_id == site.pages_id, uri


def test_a_url_that_names_more_items_than_are_followed_is_denied(ask, account, site):
    open_ = factories.policy(account, READERS)
    for number in range(31):
        factories.content(account, source=f"https://pub.example/o?id={number}", policy_id=open_.pk)
    for values, status in [(30, 200), (31, 403)]:
        uri = f"/o?{'&'.join(f'id={number}' for number in range(values))}"
        assert (ask(uri).status, ask("/o?id=30").status) == (status, 200), values


def test_a_url_with_too_many_readings_is_denied_without_a_site_too_where_an_item_may_be_meant(ask, account):
    item = factories.content(account, source="https://pub.example/a?id=5", policy_id=None)
    reply = ask(f"/a?{'x&' * 1_000}id=5")
    assert (reply.status, event(reply).content_id) == (403, item.pk)
    assert told(ask(f"/b?{'x&' * 1_000}id=5")) == (200, "allow", None)


def test_readings_of_open_pages_are_open(ask, site, account):
    for uri in [
        "/free/a%20b", "/free/caf%C3%A9", "/free/caf%E9", "/free/a;jsessionid=1", "/free/C%23", "/free/100%25",
        "/free/a?tag=a&tag=b", "/free/a?q=a;b", "/free/what%3F", "/free//a", "/free/a?" + "x=1&" * 300,
    ]:  # fmt: skip
        assert ask(uri).status == 200
    shut = factories.policy(account, factories.DENY_ALL)
    factories.content(account, source="https://pub.example/o?id=5", policy_id=shut.pk)
    others = "&".join(f"id={number}" for number in range(100, 900))
    assert [ask(f"/o?{others}").status, ask(f"/o?{others}&id=5").status] == [200, 403]
