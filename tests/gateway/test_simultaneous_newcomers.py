"""Requesters created by several requests at the same moment (analytics.recording.naming)."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction
from django.utils import timezone
from msgspec.structs import replace

from accounts.models import Account, IdempotencyRecord
from accounts.plans import epochs
from analytics.models import AccessEvent
from analytics.recording import recorder
from analytics.recording.entries import Entry, KeyClaim, Reply
from analytics.recording.outcomes import RETRY, Outcome, Unstored
from analytics.recording.statement import postgresql
from kit.storage.microbatch import InThread
from kit.storage.postgresql.async_postgres import Session, Sessions
from kit.values import ids
from kit.values.timestamps import render_timestamp
from licensing.access.event_loop.callers import Sender
from licensing.access.event_loop.gateway import Gateway
from licensing.access.lookup.pages import compiled_policies
from licensing.content.models import Content
from licensing.requesters.models import Requester
from tests import factories
from tests.gateway.conftest import Ask
from tests.gateway.newcomers import check, entries_of, limited_item, names, used


@pytest.fixture
def item(account: Account) -> Content:
    return limited_item(account)


if connection.vendor == "postgresql":
    together = pytest.mark.django_db(transaction=True)

    def in_threads(count: int, act: Callable[[int], object]) -> list[object]:
        def run(number: int) -> object:
            try:
                return act(number)
            finally:
                connection.close()

        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(run, range(count)))

    @contextmanager
    def held(account: Account) -> Iterator[None]:
        """Hold a write transaction on the account within the block."""
        begun, ended = Event(), Event()

        def write() -> None:
            with transaction.atomic():
                epochs.hold(account.pk)
                Requester.objects.create(account=account, requester_id="org_new", name="Written")
                begun.set()
                ended.wait(60)
            connection.close()

        writer = Thread(target=write)
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

            outcomes = in_threads(4, act)
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
            connection.close()

        writer = Thread(target=write)
        with transaction.atomic():
            recorder.record(entries_of(account, check(item)))
            writer.start()
            begun.set()
            writer.join(0.2)
            order.append("record")
        writer.join()
        assert order == ["record", "licence"]
        assert account.requester_set.count() == 1

    @pytest.mark.parametrize("naming", [False, True])
    def test_the_account_is_found_by_its_index_however_many_there_are(account, naming):
        Account.objects.bulk_create(Account(name=str(number)) for number in range(20_000))
        parameters = ["{}"] * 2 + ["[]"] * (3 if naming else 2) + ["{}", "[]"]
        parts = {"charging": False, "counting": True, "naming": naming, "keeping": True, "spending": False}
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE accounts_account")
            cursor.execute("SET LOCAL random_page_cost = 40")  # makes every plan that can read the whole table do so
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
