"""Pages looked up on the event loop (licensing.access.event_loop.page_lookup) equal those a thread finds."""

import pytest
from django.conf import settings

from accounts.plans.epochs import current_epoch
from licensing.access.event_loop.blocking_calls import look_up_account
from licensing.access.event_loop.lookup import needs_no_thread
from licensing.access.lookup.request import LookupRequest
from licensing.content import services as content_services
from licensing.policies import services as policy_services
from licensing.sites.patterns import MAX_WILDCARDS
from licensing.sites.services import update_site
from tests import factories
from tests.gateway.looking_up import found_on_the_loop, found_while

pytestmark = pytest.mark.django_db(transaction=True)

HOST = "https://pub.example"


def wanted(account, *targets, requesters=()):
    return LookupRequest(account.pk, {("page", HOST + target) for target in targets}, set(requesters))


def in_a_thread(one):
    return look_up_account(one.account_id, one.selectors, one.requesters)


@pytest.fixture
def policy(account):
    return factories.policy(account, factories.ALLOW_ALL)


@pytest.fixture
def site(account, policy):
    """A site that this process has read, as have been the policies."""
    rules = {"/premium/*": factories.policy(account, factories.DENY_ALL), "/free/*": policy}
    made = factories.site(account, rules, host="pub.example")
    in_a_thread(wanted(account, "/premium/a", "/free/a"))
    return made


@pytest.mark.parametrize("target", ["", "/", "/a/b", "/b%C3%BCcher?id=5&page=2", "/a.html?", "/a//b", "/a/../b"])
def test_pages_with_one_reading_need_no_thread(account, target):
    assert needs_no_thread(wanted(account, target))


@pytest.mark.parametrize(
    "target",
    ["/a;x/b", "/a%2e%2e/..//b", "/a%5Cb", "/a%00", "/a?b;c", "/a?b%26c", "/" + 500 * "a", "/?" + 10 * "a&"],
)
def test_pages_that_are_read_in_several_ways_or_slowly_are_left_to_a_thread(account, target):
    assert not needs_no_thread(wanted(account, target))


if settings.DATABASES["default"]["ENGINE"].endswith("postgresql"):
    KINDS = {
        "plain": {},
        "without a policy": {"policy_id": None},
        "with tags and a category": {"tags": ["news", "größer"], "category": "Ökonomie"},
        "archived": {"status": "archived"},
        "of another type": {"type": "dataset"},
    }

    def expect_the_same(account, *targets, **options):
        one = wanted(account, *targets, **options)
        [found] = found_on_the_loop(one)
        assert found == in_a_thread(one)
        return found.items

    @pytest.mark.parametrize("fields", KINDS.values(), ids=KINDS)
    def test_a_registered_page_is_the_same_in_every_field(account, site, policy, fields):
        item = factories.content(account, **{"policy_id": policy.pk, "source": f"{HOST}/premium/a", **fields})
        in_a_thread(wanted(account, "/"))  # reads the site again: the account has changed
        [page] = expect_the_same(account, "/premium/a").values()
        assert page.id == item.pk

    def test_pages_of_patterns_and_of_no_pattern_are_the_same(account, site):
        found = expect_the_same(account, "/premium/x", "/free/y?utm=1", "/other", requesters=["org_acme"])
        assert len(found) == 3

    def test_items_that_share_a_page_are_told_apart_by_parameters_and_age(account, site, policy):
        for number, query in enumerate(["", "?id=1", "?id=1&part=2", "?part=2", ""]):
            policies = {"policy_id": policy.pk} if number % 2 else {}
            factories.content(account, title=str(number), source=f"{HOST}/story{query}", **policies)
        in_a_thread(wanted(account, "/"))
        targets = ["", "?id=1", "?id=1&part=2", "?id=2&part=2", "?part=2&id=1&utm=3"]
        expect_the_same(account, *(f"/story{target}" for target in targets))

    def test_pages_at_an_alias_are_the_same_while_its_site_has_it(account, site, policy):
        at_alias = LookupRequest(account.pk, {("page", "https://www.pub.example/free/a")}, set())
        update_site(site, {"aliases": ["www.pub.example"]})
        item = factories.content(account, source="https://www.pub.example/free/a", policy_id=policy.pk)
        in_a_thread(wanted(account, "/"))
        in_a_thread(at_alias)
        [page] = expect_the_same(account, "/free/a").values()
        assert page.id == item.pk
        [found] = found_on_the_loop(at_alias)
        assert found == in_a_thread(at_alias)
        assert {one.id for one in found.items.values()} == {item.pk}
        update_site(site, {"aliases": []})
        in_a_thread(wanted(account, "/"))
        assert found_on_the_loop(at_alias) == [None]

    def test_a_page_of_a_site_that_is_not_cached_is_left_to_a_thread_and_nothing_else(account, other_account, site):
        elsewhere = LookupRequest(other_account.pk, {("page", f"{HOST}/a")}, set())
        left, kept = found_on_the_loop(elsewhere, wanted(account, "/premium/a"))
        assert left is None
        assert kept == in_a_thread(wanted(account, "/premium/a"))

    def test_a_page_of_a_site_with_many_wildcards_is_left_to_a_thread(account, policy):
        patterns = [f"/{'*a' * MAX_WILDCARDS}{number}" for number in range(50)]
        factories.site(account, dict.fromkeys(patterns, policy), host="pub.example")
        in_a_thread(wanted(account, "/premium/a"))
        assert found_on_the_loop(wanted(account, "/premium/a")) == [None]

    def test_a_policy_that_is_not_compiled_is_left_to_a_thread(account, site, policy):
        factories.content(account, policy_id=policy.pk, source=f"{HOST}/a")
        policy_services.update_policy(policy, {"rules": [factories.DENY_ALL]})
        in_a_thread(wanted(account, "/other"))  # reads the site again, and not this policy
        assert found_on_the_loop(wanted(account, "/a"), wanted(account, "/free/a")) == [None, None]

    def test_a_deleted_item_decides_no_page(account, site, policy):
        item = factories.content(account, policy_id=policy.pk, source=f"{HOST}/premium/a")
        content_services.delete_content(item)
        in_a_thread(wanted(account, "/"))
        [page] = expect_the_same(account, "/premium/a").values()
        assert page.id == site.pages_id

    def test_an_account_that_is_gone_is_left_to_a_thread(account):
        gone = LookupRequest("acc_00000000000000000000000000", {("page", f"{HOST}/a")}, set())
        assert found_on_the_loop(gone) == [None]

    def test_a_page_never_comes_with_an_epoch_that_is_not_its_own(account, site, policy):
        item = factories.content(account, policy_id=policy.pk, source=f"{HOST}/a")
        begin, changes = current_epoch(account.pk), 100

        def change():
            for number in range(1, changes + 1):
                content_services.update_content(item, {"category": str(number)})
                in_a_thread(wanted(account, "/"))
                yield

        seen = set()
        for found in found_while(change, wanted(account, "/a")):
            if found is not None:
                [known] = found.items.values()
                seen.add((found.epoch - begin, int(known.category or 0)))
        assert len(seen) >= changes
        assert all(epoch == category for epoch, category in seen)
