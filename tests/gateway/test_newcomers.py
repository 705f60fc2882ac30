from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from threading import Event, Thread
from typing import Any
from unittest.mock import Mock

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from msgspec.structs import replace

from accounts.models import Account, IdempotencyRecord
from accounts.plans import epochs
from accounts.plans.epochs import current_epoch
from analytics.models import AccessEvent, RuleUsage
from analytics.recording import recorder
from analytics.recording.entries import Entry, KeyClaim, Reply
from analytics.recording.outcomes import RETRY, STALE, Outcome, Unstored
from analytics.recording.statement import postgresql
from kit.storage.postgresql.async_postgres import Session, Sessions
from kit.values import ids
from kit.values.timestamps import render_timestamp
from licensing.access.check_values import Check
from licensing.access.decisions import decide_checks
from licensing.access.event_loop.callers import Sender
from licensing.access.event_loop.calls import InThread
from licensing.access.event_loop.gateway import Gateway
from licensing.access.lookup.items import find_items
from licensing.access.lookup.pages import compiled_policies
from licensing.access.lookup.requesters import assign_numbers, count_unnumbered, find_requesters, requesters_to_write
from licensing.access.subjects import LookupResult
from licensing.content import services as content_services
from licensing.content.models import Content
from licensing.requesters.models import Requester
from licensing.requesters.reserved_keys import reserve_numbers
from tests import factories
from tests.gateway.conftest import Ask
from tests.lock_waits import in_thread
from tests.stored import multiply

YESTERDAY = timezone.now() - timedelta(days=1)
LIMITED = factories.ALLOW_ALL | {"rateLimit": {"requests": 100, "period": "month"}}


def entries_of(account: Account, *checks: Check) -> list[Entry]:
    """Return what an uncached process records for one request's checks."""
    items = find_items(account.pk, {check.selector for check in checks})
    requesters = find_requesters(account.pk, {requester for check in checks for requester, _ in check.requesters})
    found = LookupResult(current_epoch(account.pk), items, requesters)
    named = requesters_to_write(checks, found)
    found = assign_numbers(found, named, reserve_numbers(count_unnumbered(named)))
    return decide_checks(checks, found, ids.id_to_hex("acc", account.pk), timezone.now()).entries


def check(item: Content, requester: str = "org_new", name: str | None = None) -> Check:
    return Check(("contentId", item.pk), requester, name)


def names(account: Account) -> dict[str, str | None]:
    return dict(account.requester_set.values_list("requester_id", "name"))


def used(account: Account) -> dict[str, int]:
    """Return each requester's use of the rule's limit."""
    known = dict(account.requester_set.values_list("pk", "requester_id"))
    return {known[usage.requester_id]: usage.used for usage in RuleUsage.objects.all()}


@pytest.fixture
def item(account: Account) -> Content:
    """An item whose requesters have a limit."""
    return factories.content(account, policy_id=factories.policy(account, LIMITED).pk)


@pytest.fixture
def record_together(application):
    """Return a function that records the entries of several requests in one commit."""
    return async_to_sync(application.gateway.commits.record)


@pytest.fixture
def without_thread(application, monkeypatch) -> None:
    """Fail if the thread that writes requesters is used."""
    used = Mock(side_effect=AssertionError("A thread writes a requester."))
    monkeypatch.setattr(application.gateway.facts.requesters, "submit", used)


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


@pytest.mark.parametrize("is_one_commit", [False, True], ids=["one after the other", "in one commit"])
def test_of_two_records_that_make_one_requester_the_later_is_left_to_be_decided_again(
    account, item, record_together, is_one_commit
):
    requests = [entries_of(account, check(item, name=name)) for name in ("First", "Second")]
    outcomes = record_together(requests) if is_one_commit else [recorder.record(entries) for entries in requests]
    assert [outcome.unstored for [outcome] in outcomes] == [None, Unstored.RETRY]
    [event] = AccessEvent.objects.all()
    assert (event.requester_id, names(account)) == (account.requester_set.get().pk, {"org_new": "First"})
    assert used(account) == {"org_new": 1}


def test_a_request_whose_requester_is_somebody_elses_by_now_takes_nothing_of_another_ones_limit(
    account, item, record_together
):
    Requester.objects.create(account=account, requester_id="org_known")
    mixed = entries_of(account, check(item, "org_known"), check(item, "org_new"))
    Requester.objects.create(account=account, requester_id="org_new")
    alone = entries_of(account, check(item, "org_known"))
    first, second = record_together([mixed, alone])
    assert first == [RETRY, RETRY]
    while second[0] == RETRY:
        [second] = record_together([alone])
    assert (second[0].remaining_before, used(account)) == (100, {"org_known": 1})
    assert AccessEvent.objects.count() == 1


def test_of_the_names_that_two_requests_of_a_batch_give_the_first_is_written(account, item, record_together):
    Requester.objects.create(account=account, requester_id="org_known")
    free = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)
    requests = [entries_of(account, check(free, "org_known", name)) for name in ("Acme", "Ajax", None)]
    outcomes = record_together(requests)
    assert all(outcome.is_stored for of_request in outcomes for outcome in of_request)
    assert names(account) == {"org_known": "Acme"}


def test_numbers_are_unique(account):
    numbers = [*reserve_numbers(3), *reserve_numbers(2)]
    made = [Requester.objects.create(account=account, requester_id=str(number)).pk for number in range(3)]
    numbers += reserve_numbers(1)
    assert len({*numbers, *made}) == 9


if connection.vendor == "postgresql":
    together = pytest.mark.django_db(transaction=True)

    @contextmanager
    def held(account: Account) -> Iterator[None]:
        """Hold a write transaction on the account within the block."""
        begun, ended = Event(), Event()

        def write() -> None:
            with transaction.atomic():
                epochs.lock_epoch(account.pk)
                Requester.objects.create(account=account, requester_id="org_new", name="Written")
                begun.set()
                ended.wait(60)

        writer = Thread(target=in_thread, args=[write])
        writer.start()
        begun.wait(60)
        try:
            yield
        finally:
            ended.set()
            writer.join()

    @together
    def test_processes_that_make_the_same_requesters_at_once_make_one_of_each(account, item):
        """Each record has them in a different order."""
        for turn in range(10):
            requesters = [f"org_{turn}_{number}" for number in range(4)]

            def act(number: int, requesters: list[str] = requesters) -> list[Outcome]:
                ordered = requesters[number:] + requesters[:number]
                return recorder.record(entries_of(account, *(check(item, one, f"By {number}") for one in ordered)))

            with ThreadPoolExecutor(4) as pool:
                outcomes = list(pool.map(partial(in_thread, act), range(4)))
            stored = [of_record for of_record in outcomes if all(outcome.is_stored for outcome in of_record)]
            assert stored
            assert all(outcome == RETRY for of_record in outcomes if of_record not in stored for outcome in of_record)
            assert AccessEvent.objects.filter(requester__requester_id__in=requesters).count() == 4 * len(stored)
            assert {used(account).get(one, 0) for one in requesters} == {len(stored)}
            assert account.requester_set.filter(requester_id__in=requesters).count() == 4

    @together
    def test_a_record_waits_for_nobody_who_writes_to_the_account(account, item):
        """A commit also contains other requests' checks."""
        new, known = entries_of(account, check(item)), entries_of(account, check(item, "org_known"))
        [outcome] = recorder.record(known)
        known = entries_of(account, check(item, "org_known"))
        with held(account):
            outcomes = recorder.record([*new, *known])
        assert outcome.is_stored
        assert [outcome.unstored for outcome in outcomes] == [Unstored.RETRY, None]
        assert (names(account), used(account)) == ({"org_known": None, "org_new": "Written"}, {"org_known": 2})

    @together
    def test_a_key_is_claimed_together_with_the_requester_or_not_at_all(account):
        item = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)

        def keyed(key: str) -> list[Entry]:
            created = render_timestamp(timezone.now()) or ""
            reply = Reply(KeyClaim(ids.id_to_hex("acc", account.pk), key, "00", created), b"sealed")
            return [replace(entry, reply=reply) for entry in entries_of(account, check(item))]

        late = keyed("late")
        outcomes = [*recorder.record(keyed("first")), *recorder.record(late)]
        assert [outcome.unstored for outcome in outcomes] == [None, Unstored.RETRY]
        assert list(IdempotencyRecord.objects.values_list("key", flat=True)) == ["first"]
        assert (AccessEvent.objects.count(), names(account)) == (1, {"org_new": None})

    @together
    def test_meanwhile_others_come_into_being_by_their_checks(account, item, ask: Ask):
        with held(account):
            assert ask(check(item, "org_other", "Other")).rate_remaining == 99
        assert ask(check(item, "org_new")).requester_name == "Written"
        assert names(account) == {"org_new": "Written", "org_other": "Other"}

    @together
    def test_a_writer_waits_for_a_record_that_has_not_been_committed(account, item):
        begun, order = Event(), []

        def write() -> None:
            begun.wait(60)
            factories.license(account, "org_new")
            order.append("licence")

        writer = Thread(target=in_thread, args=[write])
        with transaction.atomic():
            recorder.record(entries_of(account, check(item)))
            writer.start()
            begun.set()
            writer.join(0.2)
            order.append("record")
        writer.join()
        assert order == ["record", "licence"]
        assert account.requester_set.count() == 1

    def test_the_account_is_found_by_its_index_however_many_there_are(account):
        multiply(account, 20_000)
        for naming in (False, True):
            parameters = ["{}"] * 2 + ["[]"] * (3 if naming else 2) + ["{}", "[]"]
            parts = {"charging": False, "counting": True, "naming": naming, "keeping": True, "spending": False}
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL random_page_cost = 40")  # makes every plan read the whole table that can
                cursor.execute(f"EXPLAIN {postgresql(**parts, alike=False)}", parameters)
                plan = "\n".join(line for (line,) in cursor.fetchall())
            assert "accounts_account_pkey" in plan
            assert "Seq Scan on accounts_account" not in plan, plan

    @together
    def test_a_first_check_takes_no_thread(account, item, ask: Ask, monkeypatch):
        """On the event loop as deployed."""
        compiled_policies.get([(item.policy_id, 1)])
        used: list[str] = []
        made: list[Session] = []
        in_thread, connect = InThread.__call__, Sessions.connect

        async def noted(self: InThread, items: Any) -> Any:
            used.append(self.name)
            return await in_thread(self, items)

        async def connected(self: Sessions) -> Session:
            made.append(await connect(self))
            return made[-1]

        monkeypatch.setattr(InThread, "__call__", noted)
        monkeypatch.setattr(Sessions, "connect", connected)

        async def first_checks() -> list[Any]:
            gateway = Gateway()
            answers = []
            for name in ("org_new", "org_other"):
                sender = Sender(gateway.callers, ask.authorization, None)
                asked = check(item, name)
                answers += await sender.serve(partial(gateway.check, sender, [asked], timezone.now()))
            for session in made:
                session.close()
            return answers

        answers = async_to_sync(first_checks)()
        assert [answer.rate_remaining for answer in answers] == [99, 99]
        assert set(used) <= {"uses"}  # once a minute for a key
        assert names(account) == {"org_new": None, "org_other": None}
