"""The warning that a CDN seems to hide the addresses of visitors, from what proxies asked."""

import pytest

from licensing.visits.proxy_networks import find_proxy_networks, newest_visits
from tests.edge.asking import READERS

pytestmark = pytest.mark.django_db(transaction=True)
CDN = ("203.0.113.9", "203.0.113.77", "2001:db8:1:2::9")
NETWORKS = ["2001:db8:1::", "203.0.113.0"]
READER, CRAWLERS = "Mozilla/5.0 Firefox/{}", ("GPTBot/1.2", "CCBot/2.0", "ClaudeBot/1.0")


@pytest.fixture
def networks_of_visits(ask, site):
    """Visit a page with each pair of address and User-Agent. Return the networks that the warning names."""

    def networks_of_visits(visits):
        own = site(READERS)
        for address, agent in visits:
            ask("/premium/a", x_forwarded_for=address, user_agent=agent)
        return sorted(find_proxy_networks(newest_visits(own)))

    return networks_of_visits


def test_a_cdn_is_noticed_by_readers_alone_by_claimed_crawlers_alone_and_by_both(networks_of_visits):
    readers = [(CDN[number % 3], READER.format(number)) for number in range(50)]
    crawlers = [(CDN[number % 3], CRAWLERS[number // 3 % 3]) for number in range(50)]
    assert networks_of_visits(readers) == NETWORKS
    assert networks_of_visits(crawlers) == NETWORKS
    assert networks_of_visits(readers[:25] + crawlers[25:]) == NETWORKS


def test_one_busy_visitor_many_networks_and_few_visits_are_no_cdn(networks_of_visits):
    assert networks_of_visits([("203.0.113.9", "GPTBot/1.2")] * 50) == []
    assert networks_of_visits([(f"198.51.{number}.7", READER.format(number % 3)) for number in range(50)]) == []
    assert networks_of_visits([("203.0.113.9", READER.format(number)) for number in range(49)]) == []


def test_crawlers_that_their_address_verifies_show_that_addresses_are_known(networks_of_visits, crawler_table):
    seeker = {"name": "Seeker", "class": "search", "operator": "Seeker", "userAgent": "Seeker"}
    crawler_table({**seeker, "addresses": ["203.0.113.9/32"]})
    readers = [("203.0.113.9", READER.format(number)) for number in range(50)]
    assert networks_of_visits(readers) == NETWORKS[1:]
    assert networks_of_visits([*readers, *[("203.0.113.9", "Seeker/1.0")] * 3]) == []
