import pytest

from accounts.plans.services import update_account
from tests.edge.asking import READERS, event

BROWSER = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"
ONCE = {**READERS, "rateLimit": {"requests": 1, "period": "month", "per": "visitor"}}
NEAR = {**READERS, "conditions": {"ip": "203.0.113.9/32"}}


def test_addresses_are_stored_truncated_except_of_crawlers(ask, account, api_of, site):
    for address, stored in [("203.0.113.9", "203.0.113.0"), ("2001:db8:1:2:3::4", "2001:db8:1::")]:
        site(READERS)
        reply = ask("/premium/a", user_agent=BROWSER, x_forwarded_for=address)
        assert event(reply).facts["ip"] == stored
        decision = api_of(account).get(f"/v1/access/decisions/{reply.headers['X-Access-Id']}")
        assert decision["context"]["ip"] == stored
    for user_agent in ["GPTBot/1.0", "Mozilla/5.0 (compatible; Googlebot/2.1)"]:
        site(READERS)
        assert event(ask("/premium/a", user_agent=user_agent)).facts["ip"] == "203.0.113.9"
    site(READERS)
    assert event(ask("/premium/a", user_agent=BROWSER)).facts["ip"] == "203.0.113.0"
    update_account(account, {"visitor_addresses": "full"})
    assert event(ask("/premium/a", user_agent=BROWSER)).facts["ip"] == "203.0.113.9"


def test_decisions_use_the_whole_address(ask, site):
    site(NEAR)
    assert ask("/premium/a", user_agent=BROWSER).status == 200
    assert ask("/premium/a", user_agent=BROWSER, x_forwarded_for="203.0.113.10").status == 403


@pytest.mark.usefixtures("one_reader_per_address")
def test_limits_per_visitor_count_whole_addresses(ask, site):
    site(ONCE)
    addresses = ["203.0.113.9", "203.0.113.10", "203.0.113.9", "2001:db8:1:2::3", "2001:db8:1:3::3", "2001:db8:1:2::4"]
    replies = [ask("/premium/a", user_agent=BROWSER, x_forwarded_for=address) for address in addresses]
    assert [reply.status for reply in replies] == [200, 200, 429, 200, 200, 429]
    assert {event(reply).facts["ip"] for reply in replies} == {"203.0.113.0", "2001:db8:1::"}
