import pytest

from licensing.access.event_loop.blocking_calls import look_up_account
from licensing.access.subjects import LookupRequest
from licensing.policies import services as policy_services
from tests import factories

URL = "https://pub.example/premium/{}"

pytestmark = pytest.mark.django_db


def looked_up(account, page):
    selector = "page", URL.format(page)
    return look_up_account(LookupRequest(account.pk, {selector}, set())).items.get(selector)


def test_a_further_page_of_a_site_takes_two_queries_and_has_the_next_version_of_its_policy(
    account, site, django_assert_max_num_queries
):
    site(factories.ALLOW_ALL)
    looked_up(account, 1)
    with django_assert_max_num_queries(2):
        assert looked_up(account, 2).facts["pattern"] == "/premium/*"
    policy = site(factories.ALLOW_ALL).ordered_rules[0].policy
    assert looked_up(account, 1).policy.version == 1
    policy_services.update_policy(policy, {"rules": [factories.DENY_ALL]})
    assert looked_up(account, 2).policy.version == 2
