"""`X-Access-Cache: private` marks the pages that a cache before the proxy must not keep for everybody."""

import pytest

from tests import factories
from tests.edge.asking import LICENSED, READERS
from tests.edge.documents import replace_site
from tests.edge.tokens import ask_token

pytestmark = pytest.mark.django_db(transaction=True)
FIVE_A_MONTH = {**READERS, "rateLimit": {"requests": 5, "period": "month", "per": "visitor"}}
NEAR = {**READERS, "conditions": {"ip": "203.0.113.0/24"}}
FOR_A_WHILE = {**READERS, "conditions": {"before": "2999-01-01"}}


def cache_of(reply):
    """Return the Cache-Control that the proxy sets on the page; None if the origin's stays."""
    assert reply.status == 200, reply.body
    return reply.headers.get("X-Access-Cache")


@pytest.fixture
def licensee(account):
    """Return the header of a visitor whose API key has a licence."""
    own, text = factories.api_key(account)
    factories.license(account, own.pk)
    return {"authorization": f"Bearer {text}"}


def test_a_page_that_everybody_may_read_stays_cacheable_for_every_visitor(ask, site, licensee):
    site(LICENSED, factories.ALLOW_ALL)
    for visitor in (licensee, {}, {"user_agent": "GPTBot/1.2"}):
        assert cache_of(ask("/about", **visitor)) is None
    assert cache_of(ask("/robots.txt")) is None
    site(factories.ALLOW_ALL)
    for visitor in (licensee, {}, {"user_agent": "GPTBot/1.2"}):
        assert cache_of(ask("/premium/a?id=5", **visitor)) is None


def test_a_page_that_opens_by_a_licence_a_token_or_a_payment_is_private(ask, site, account, licensee):
    site(LICENSED)
    factories.license(account)
    token = ask_token(*factories.license_client(account)).json()["access_token"]
    for visitor in (licensee, {"authorization": f"License {token}"}):
        assert cache_of(ask("/premium/a", **visitor)) == "private"
    own, text = factories.api_key(account)
    factories.license(account, own.pk, per_access="0.05")
    site(LICENSED, READERS)
    reply = ask("/premium/a", authorization=f"Bearer {text}")
    assert (cache_of(reply), reply.headers["crawler-charged"]) == ("private", "USD 0.05")


def test_a_page_that_is_metered_or_not_open_to_everybody_at_any_time_is_private(ask, site):
    for rule in [NEAR, FOR_A_WHILE, {**READERS, "rateLimit": {"requests": 5, "period": "day"}}]:
        site(rule)
        assert cache_of(ask("/premium/a")) == "private", rule
    site(FIVE_A_MONTH)
    first = ask("/premium/a")
    cookie = first.headers["Set-Cookie"].partition("=")[2].partition(";")[0]
    assert [cache_of(first), cache_of(ask("/premium/a", x_licensing_visitor=cookie))] == ["private"] * 2


def test_refusals_and_sites_that_refuse_nobody_have_no_such_header(ask, site):
    site(LICENSED)
    assert "X-Access-Cache" not in ask("/premium/a").headers
    for mode in ("observe", "disabled"):
        site(LICENSED, mode=mode)
        assert cache_of(ask("/premium/a")) is None


def test_a_url_that_origins_read_as_two_pages_is_private_if_one_of_them_is(ask, account, licensee):
    free, sold = factories.policy(account, READERS), factories.policy(account, LICENSED)
    replace_site(account, {"/free/*": free, "/premium/*": sold})
    assert cache_of(ask("/free/a", **licensee)) is None
    for uri in ("/free/..;/premium/a", "/premium/..;/free/a"):
        assert cache_of(ask(uri, **licensee)) == "private"
