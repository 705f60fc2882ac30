import pytest

from tests import factories
from tests.edge.asking import LICENSED, READERS, told
from tests.edge.tokens import ask_token

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _caching(settings):
    settings.EDGE_CACHE_SECONDS = 30


def seconds(reply):
    """Return the seconds for which the answer may be cached; None if it may not."""
    cache, nginx = reply.headers["Cache-Control"], reply.headers.get("X-Accel-Expires")
    if cache == "no-store":
        assert nginx is None
        return None
    assert cache == f"private, max-age={nginx}"
    return int(nginx)


def test_pages_and_denials_without_a_price_are_cacheable(ask, site, account):
    site(READERS)
    assert seconds(ask("/premium/a")) == 30
    assert seconds(ask("/about")) == 30
    site(LICENSED)
    reply = ask("/premium/a")
    assert (reply.status, seconds(reply)) == (402, 30)
    assert seconds(ask("/premium/a?utm_source=mail&utm_campaign=a-1&fbclid=Iw.x_y")) == 30
    assert seconds(ask("/premium/a?utm_source=mail&id=5")) is None
    site({**READERS, "conditions": {"before": "2999-01-01"}})
    assert seconds(ask("/premium/a")) == 30
    assert seconds(ask("/premium/a", x_licensing_key="svc_sk_nope")) is None
    assert seconds(ask("/premium/a", path="/v1/access/forward?deny=403", x_licensing_key="svc_sk_nope")) is None
    assert seconds(ask("/premium/a", authorization=f"Bearer {factories.key_text(account)}")) is None


PRICED = {**READERS, "pricePerAccess": {"amount": "0.01", "currency": "USD"}}


def test_counted_charged_and_address_dependent_answers_are_not_cacheable(ask, site, settings):
    for rule in [
        PRICED,
        {**READERS, "rateLimit": {"requests": 5, "period": "day"}},
        {**READERS, "rateLimit": {"requests": 5, "period": "day", "per": "visitor"}},
        {**READERS, "conditions": {"ip": "203.0.113.0/24"}},
    ]:
        site(rule)
        assert seconds(ask("/premium/a")) is None
    settings.EDGE_CACHE_SECONDS = 0
    site(READERS)
    assert seconds(ask("/premium/a")) is None


def test_answers_that_depend_on_more_than_the_cache_key_or_on_the_reading_of_a_url_are_not_cacheable(ask, site):
    site(READERS)
    for headers in [
        {"crawler_max_price": "USD 1"},
        {"signature": "sig=:YQ==:", "signature_input": "sig=()"},
        {"authorization": "License nope"},
        {"authorization": "Basic YTpi"},
    ]:  # fmt: skip
        assert seconds(ask("/premium/a", **headers)) is None, headers
        assert seconds(ask("/premium/a", path=BY_ADDRESS, user_agent="GPTBot/1.2", **headers)) is None, headers
    for uri in ["/premium/a?x=1", "/premium/%61", "/premium/a;x", "/premium/../a", "/premium//a"]:
        assert seconds(ask(uri)) is None, uri


BY_ADDRESS = "/v1/access/forward?deny=403&cached-by=address"


def test_crawlers_and_conditions_on_the_address_are_cacheable_by_a_proxy_whose_key_has_it(ask, site):
    site(READERS)
    assert seconds(ask("/premium/a", user_agent="GPTBot/1.2")) is None
    assert seconds(ask("/premium/a", path=BY_ADDRESS, user_agent="GPTBot/1.2")) == 30
    assert seconds(ask("/premium/a", path=BY_ADDRESS)) == 30
    assert seconds(ask("/premium/a", path=BY_ADDRESS, user_agent="Googlebot/2.1")) is None
    site({**READERS, "conditions": {"ip": "203.0.113.0/24"}})
    assert seconds(ask("/premium/a", path=BY_ADDRESS)) == 30


def test_counted_and_charged_answers_are_not_cacheable_by_address(ask, site):
    for further in [
        {"pricePerAccess": {"amount": "0.01", "currency": "USD"}},
        {"rateLimit": {"requests": 5, "period": "day"}},
    ]:
        site({**READERS, "permissions": ["full_access"], **further})
        assert seconds(ask("/premium/a", path=BY_ADDRESS, user_agent="GPTBot/1.2")) is None


def test_accesses_that_a_quota_pays_are_not_cacheable_nor_what_follows_them(ask, site, account, crawler_table):
    crawler_table(
        {"name": "Listed", "class": "search", "operator": "Listed", "userAgent": "Listed",
         "addresses": ["203.0.113.0/24"]}
    )  # fmt: skip
    site({**LICENSED, "permissions": ["search"]})
    held = factories.license(account, "crawler:listed")
    assert seconds(ask("/premium/a", path=BY_ADDRESS, user_agent="Listed/1.0")) == 30
    factories.wallet(account, unit="access", amount=1, license_id=held.pk, requester_id="crawler:listed")
    paid, refused = (ask("/premium/a", path=BY_ADDRESS, user_agent="Listed/1.0") for _ in range(2))
    assert (told(paid)[1], seconds(paid)) == ("allow", None)
    assert (told(refused)[2], seconds(refused)) == ("quota_exceeded", None)


def test_answers_to_a_licence_token_are_cacheable_until_it_ends(ask, site, account, settings):
    site(LICENSED, factories.DENY_ALL, unknown="deny")
    factories.license(account)
    client = factories.license_client(account)
    for lifetime, least, most in ((3600, 30, 30), (20, 1, 20)):
        settings.LICENSE_TOKEN_SECONDS = lifetime
        reply = ask("/premium/a", authorization=f"License {ask_token(*client).json()['access_token']}")
        assert reply.status == 200
        assert least <= seconds(reply) <= most
