from itertools import chain

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import Account
from analytics.models import AccessEvent
from analytics.recording import recorder
from analytics.recording.outcomes import RETRY, STALE, Unstored
from kit.values import ids
from licensing.access.check_values import Check
from licensing.access.event_loop.gateway import Gateway
from licensing.content import services as content_services
from licensing.content.models import Content
from licensing.requesters.models import Requester
from licensing.requesters.numbers import reserve
from tests import factories
from tests.gateway.conftest import Ask
from tests.gateway.newcomers import YESTERDAY, check, entries_of, limited_item, names, used


@pytest.fixture
def item(account: Account) -> Content:
    return limited_item(account)


@pytest.fixture
def without_thread(application, monkeypatch) -> None:
    """Fail if the thread that writes requesters is used."""

    def fail(*_: object) -> None:
        raise AssertionError("a thread is asked to write a requester")

    monkeypatch.setattr(application.gateway.facts.requesters, "submit", fail)


@pytest.mark.usefixtures("without_thread")
class TestACheck:
    def test_of_somebody_new_writes_him_with_its_decision(self, account, item, ask: Ask):
        before = timezone.now()
        answer = ask(check(item, name="New"))
        [event], [requester] = AccessEvent.objects.all(), account.requester_set.all()
        assert (event.pk, event.requester_id) == (answer.id, requester.pk)
        assert (requester.requester_id, requester.name) == ("org_new", "New")
        assert before <= requester.created == event.created <= timezone.now()
        assert used(account) == {"org_new": 1}

    def test_that_follows_finds_him(self, account, item, ask: Ask):
        remaining = [ask(check(item)).rate_remaining for _ in range(3)]
        assert remaining == [99, 98, 97]
        assert names(account) == {"org_new": None}

    def test_that_gives_the_first_name_stores_it_and_later_ones_do_not(self, account, item, ask: Ask):
        given = [None, "Acme", None, "Ajax", None, "Ajax"]
        told = [ask(check(item, name=name)).requester_name for name in given]
        assert told == [None, "Acme", "Acme", "Acme", "Acme", "Acme"]
        assert names(account) == {"org_new": "Acme"}
        assert [event.facts.get("requesterName") for event in AccessEvent.objects.order_by("created")] == told

    def test_decided_before_he_got_a_licence_elsewhere_is_decided_again(
        self, account, application, ask: Ask, monkeypatch
    ):
        item = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_LICENSED).pk)
        write, issued = application.gateway.commits.write, []

        async def write_after_licence(entries):
            if not issued:
                issued.append(await sync_to_async(factories.license)(account, "org_new", starts_at=YESTERDAY))
            return await write(entries)

        monkeypatch.setattr(application.gateway.commits, "write", write_after_licence)
        answer = ask(check(item))
        assert answer.decision.allowed
        assert answer.facts.licenses[0].id == issued[0].pk
        [event] = AccessEvent.objects.all()
        assert event.requester_id == issued[0].requester_id

    def test_of_an_unknown_item_or_a_rehearsal_brings_nobody_into_being(self, account, api, item, ask: Ask):
        ask(Check(("contentId", "cnt_unknown"), "org_new"))
        api.post("/v1/access/check/batch", {"checks": [{"contentId": "cnt_unknown", "requester": "org_new"}]})
        ask(Check(("contentId", item.pk), "org_new", dry_run=True))
        assert names(account) == {}

    def test_of_many_makes_each_of_them_once(self, account, application, api, item):
        requesters = [{"id": f"org_{number % 20}", "name": f"Name {number}"} for number in range(60)]
        checks = [{"contentId": item.pk, "requester": one} for one in requesters]
        assert len(api.post("/v1/access/check/batch", {"checks": checks})["data"]) == 60
        assert names(account) == {f"org_{number}": f"Name {number}" for number in range(20)}
        assert used(account) == {f"org_{number}": 3 for number in range(20)}


def test_a_record_that_fails_leaves_no_requester_behind(account, item):
    recorder.record(entries_of(account, check(item, "org_known")))
    [stored] = AccessEvent.objects.values_list("pk", flat=True)
    [entry] = entries_of(account, check(item, "org_new"))
    entry.ids[:] = [ids.id_to_hex("dec", stored)]
    with pytest.raises(IntegrityError), transaction.atomic():
        recorder.record([entry])
    assert names(account) == {"org_known": None}
    assert used(account) == {"org_known": 1}


def test_a_record_that_a_change_has_overtaken_leaves_no_requester_behind(account, item):
    entries = entries_of(account, check(item))
    content_services.update_content(item, {"title": "Changed"})
    assert recorder.record(entries) == [STALE]
    assert names(account) == {}


def test_of_two_records_that_make_one_requester_the_later_is_left_to_be_decided_again(account, item):
    first, second = entries_of(account, check(item, name="First")), entries_of(account, check(item, name="Second"))
    outcomes = [*recorder.record(first), *recorder.record(second)]
    assert [outcome.unstored for outcome in outcomes] == [None, Unstored.RETRY]
    [event] = AccessEvent.objects.all()
    assert (event.requester_id, names(account)) == (account.requester_set.get().pk, {"org_new": "First"})
    assert used(account) == {"org_new": 1}


def test_of_two_requests_of_a_batch_too(account, item, application):
    gateway: Gateway = application.gateway
    requests = [entries_of(account, check(item, name=name)) for name in ("First", "Second")]
    outcomes = list(chain(*async_to_sync(gateway.commits.record)(requests)))
    assert [outcome.unstored for outcome in outcomes] == [None, Unstored.RETRY]
    assert (names(account), used(account)) == ({"org_new": "First"}, {"org_new": 1})


def test_a_request_whose_requester_is_somebody_elses_by_now_takes_nothing_of_another_ones_limit(
    account, item, application
):
    Requester.objects.create(account=account, requester_id="org_known")
    mixed = entries_of(account, check(item, "org_known"), check(item, "org_new"))
    Requester.objects.create(account=account, requester_id="org_new")
    alone = entries_of(account, check(item, "org_known"))
    gateway: Gateway = application.gateway
    first, second = async_to_sync(gateway.commits.record)([mixed, alone])
    assert first == [RETRY, RETRY]
    while second[0] == RETRY:
        [second] = async_to_sync(gateway.commits.record)([alone])
    assert (second[0].room, used(account)) == (100, {"org_known": 1})
    assert AccessEvent.objects.count() == 1


def test_of_the_names_that_two_requests_of_a_batch_give_the_first_is_written(account, item, application):
    Requester.objects.create(account=account, requester_id="org_known")
    free = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)
    requests = [entries_of(account, check(free, "org_known", name)) for name in ("Acme", "Ajax", None)]
    gateway: Gateway = application.gateway
    outcomes = async_to_sync(gateway.commits.record)(requests)
    assert all(outcome.is_stored for of_request in outcomes for outcome in of_request)
    assert names(account) == {"org_known": "Acme"}


def test_numbers_are_unique(account):
    numbers = [*reserve(3), *reserve(2)]
    made = [Requester.objects.create(account=account, requester_id=str(number)).pk for number in range(3)]
    numbers += reserve(1)
    assert len({*numbers, *made}) == 9
