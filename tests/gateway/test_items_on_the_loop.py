"""Items looked up on the event loop (licensing.access.event_loop.lookup) equal those a thread finds.

The event loop reads committed data, on a connection of its own.
"""

import pytest
from django.conf import settings

from accounts.plans.epochs import current_epoch
from licensing.access.event_loop.blocking_calls import look_up_account
from licensing.access.event_loop.lookup import needs_no_thread
from licensing.access.lookup.policies import compiled_policies
from licensing.access.lookup.request import LookupRequest, LookupResult
from licensing.content import services as content_services
from licensing.policies import services as policy_services
from tests import factories
from tests.gateway.looking_up import found_on_the_loop, found_while

pytestmark = pytest.mark.django_db(transaction=True)

NO_ITEM = "cnt_00000000000000000000000000"


def wanted(account, *content_ids):
    return LookupRequest(account.pk, {("contentId", content_id) for content_id in content_ids}, set())


@pytest.fixture
def policy(account):
    policy = factories.policy(account, factories.ALLOW_ALL)
    compiled_policies.get([(policy.pk, 1)])
    return policy


def test_items_that_are_named_by_their_ids_need_no_thread(account):
    assert needs_no_thread(LookupRequest(account.pk, {("contentId", NO_ITEM)}, {"org_acme"}))
    assert not needs_no_thread(LookupRequest(account.pk, {("contentId", NO_ITEM), ("externalId", "a")}, set()))


if settings.DATABASES["default"]["ENGINE"].endswith("postgresql"):
    KINDS = {
        "plain": {},
        "without a policy": {"policy_id": None},
        "of another type": {"type": "dataset"},
        "with tags": {"tags": ["news", "größer \"als\" '{},NULL'", "\\"]},
        "with a category": {"category": "Ökonomie"},
        "with an empty category": {"category": ""},
        "archived": {"status": "archived"},
    }

    @pytest.mark.parametrize("fields", KINDS.values(), ids=KINDS)
    def test_an_item_is_the_same_in_every_field(account, policy, fields):
        item = factories.content(account, **{"policy_id": policy.pk, **fields})
        one = wanted(account, item.pk)
        [found] = found_on_the_loop(one)
        assert found == look_up_account(account.pk, one.selectors, set())
        assert set(found.items) == one.selectors

    def test_many_items_are_each_found_at_their_place(account, policy):
        factories.policy(account)
        items = [factories.content(account, policy_id=policy.pk, tags=[f"tag{n}"]) for n in range(30)]
        one, other = wanted(account, *(item.pk for item in items)), wanted(account, items[7].pk, NO_ITEM)
        first, second = found_on_the_loop(one, other)
        assert first == look_up_account(account.pk, one.selectors, set())
        assert second == look_up_account(account.pk, other.selectors, set())
        assert list(second.items) == [("contentId", items[7].pk)]

    def test_another_accounts_item_is_not_found_and_its_own_account_finds_it(account, other_account, policy):
        item = factories.content(account, policy_id=policy.pk)
        stranger, owner = found_on_the_loop(wanted(other_account, item.pk), wanted(account, item.pk))
        assert stranger == LookupResult(current_epoch(other_account.pk), {}, {})
        assert list(owner.items) == [("contentId", item.pk)]

    @pytest.mark.parametrize(
        "content_id", [NO_ITEM, "cnt_no", "NULL", "", '{"}', "cnt_8" + 25 * "z", "pol_" + 26 * "0"]
    )
    def test_malformed_item_ids_find_nothing(account, content_id):
        assert found_on_the_loop(wanted(account, content_id)) == [LookupResult(current_epoch(account.pk), {}, {})]

    def test_a_deleted_item_is_not_found(account, policy):
        item = factories.content(account, policy_id=policy.pk)
        content_services.delete_content(item)
        assert found_on_the_loop(wanted(account, item.pk))[0].items == {}

    def test_a_policy_that_is_not_compiled_is_left_to_a_thread_and_nothing_else(account, policy):
        item = factories.content(account, policy_id=policy.pk)
        bare = factories.content(account)
        policy_services.update_policy(policy, {"rules": [factories.DENY_ALL]})
        left, kept = found_on_the_loop(wanted(account, item.pk), wanted(account, bare.pk))
        assert left is None
        assert list(kept.items) == [("contentId", bare.pk)]

    def test_an_account_that_is_gone_is_left_to_a_thread(account):
        gone = LookupRequest("acc_00000000000000000000000000", {("contentId", NO_ITEM)}, set())
        assert found_on_the_loop(gone, wanted(account, NO_ITEM))[0] is None

    def test_an_item_never_comes_with_an_epoch_that_is_not_its_own(account, policy):
        item = factories.content(account, policy_id=policy.pk)
        begin, changes = current_epoch(account.pk), 100

        def change():
            for number in range(1, changes + 1):
                content_services.update_content(item, {"category": str(number)})
                yield

        seen = set()
        for found in found_while(change, wanted(account, item.pk)):
            [known] = found.items.values()
            seen.add((found.epoch - begin, int(known.category or 0)))
        assert len(seen) >= changes
        assert all(epoch == category for epoch, category in seen)
