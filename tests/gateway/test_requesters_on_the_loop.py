"""The event loop (licensing.access.event_loop.lookup) finds the same requesters as a thread.

Requesters whose licences are not compiled are left to a thread.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from accounts.plans.epochs import current_epoch
from kit.storage.microbatch import InThread, MicroBatch
from licensing.access.check_values import Check
from licensing.access.event_loop.blocking_calls import keep_requesters_now, look_up_account, look_up_now
from licensing.access.event_loop.gateway import Gateway
from licensing.access.event_loop.lookup import FIND, AsyncLookup
from licensing.access.lookup.policies import compiled_policies
from licensing.access.lookup.request import LookupRequest, LookupResult
from licensing.access.lookup.requesters import find_requesters
from licensing.access.subjects import RequesterSnapshot
from licensing.content import services as content_services
from licensing.licenses.services import revoke_license
from licensing.requesters.models import Requester
from tests import factories
from tests.gateway.looking_up import close, found_on_the_loop, found_while

pytestmark = pytest.mark.django_db(transaction=True)


def wanted(account, requester_id="org_acme"):
    return LookupRequest(account.pk, set(), {requester_id})


def unique_indexes():
    """Return the names of the database's unique indexes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexrelid::regclass::text FROM pg_index WHERE indisunique")
        return {name for [name] in cursor.fetchall()}


def make(account, requester_id="org_acme", name=None):
    return Requester.objects.create(account=account, requester_id=requester_id, name=name)


if settings.DATABASES["default"]["ENGINE"].endswith("postgresql"):
    OWN_IDS = ["org_acme", "NULL", "", " ", "größe", "日本", '{"a","b"}', "\\", '\\"', "a,b", "'", "%s $1", "x" * 255]

    @pytest.mark.parametrize("name", [None, "Acme", "NULL", "Ökonomie 'n' \"more\""])
    @pytest.mark.parametrize("requester_id", OWN_IDS)
    def test_a_requester_is_found_as_by_a_thread(account, requester_id, name):
        make(account, requester_id, name)
        [found] = found_on_the_loop(wanted(account, requester_id))
        assert found == look_up_account(account.pk, (), {requester_id})
        assert found.requesters[requester_id].name == name

    def test_requester_ids_are_compared_with_case_and_spaces(account):
        ids = ["acme", "Acme", "acme ", " acme", "acmé", "acme\u0301"]
        rows = {name: make(account, name).pk for name in ids}
        [found] = found_on_the_loop(LookupRequest(account.pk, set(), set(ids)))
        assert {name: known.pk for name, known in found.requesters.items()} == rows

    def test_items_and_requesters_of_several_checks_are_each_found_at_their_place(account):
        items = [factories.content(account) for _ in range(20)]
        names = [make(account, f"org_{number}").requester_id for number in range(20)]
        many = [
            LookupRequest(account.pk, {("contentId", item.pk)}, {name, names[0]})
            for item, name in zip(items, names, strict=True)
        ]
        expected = [look_up_account(account.pk, one.selectors, one.requesters) for one in many]
        assert found_on_the_loop(*many) == expected

    def test_another_accounts_requester_of_the_same_name_is_not_found(account, other_account):
        make(account)
        stranger, owner = found_on_the_loop(wanted(other_account), wanted(account))
        assert stranger.requesters == {"org_acme": RequesterSnapshot(None, None)}
        assert owner.requesters["org_acme"].pk

    def test_licences_that_are_compiled_are_found_until_they_change(account):
        held = factories.license(account)
        assert found_on_the_loop(wanted(account)) == [None]
        compiled = find_requesters(account.pk, ["org_acme"])
        assert found_on_the_loop(wanted(account)) == [LookupResult(current_epoch(account.pk), {}, compiled)]
        revoke_license(held)
        assert found_on_the_loop(wanted(account)) == [None]

    def test_a_requester_never_comes_with_an_epoch_that_is_not_its_own(account):
        """The writer numbers its changes, so a mixed-up epoch shows."""
        item = factories.content(account)
        begin, changes = current_epoch(account.pk), 60

        def change():
            for number in range(1, changes + 1):
                factories.license(account, requester_name=str(number))
                find_requesters(account.pk, ["org_acme"])  # compiles
                content_services.update_content(item, {"category": str(number)})
                yield

        seen = set()
        for found in found_while(change, LookupRequest(account.pk, {("contentId", item.pk)}, {"org_acme"})):
            if found is not None:
                [known], [requester] = found.items.values(), found.requesters.values()
                licences = len(requester.licenses.terms) if requester.licenses else 0
                seen.add((found.epoch - begin, licences, int(requester.name or 0), int(known.category or 0)))
        assert len(seen) >= changes
        # The first licence gives the name, and later ones keep it.
        assert seen <= {
            (epoch, (epoch + 1) // 2, min((epoch + 1) // 2, 1), epoch // 2) for epoch in range(2 * changes + 1)
        }

    @pytest.mark.parametrize("requesters", [0, 1, 500])
    def test_every_row_is_looked_up_by_its_unique_index_however_many_there_are(account, requesters):
        for number in range(requesters):
            make(account, f"org_{number}")
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE licensing_requester")

        async def explain():
            lookup = AsyncLookup()
            try:
                return await lookup.sessions.run(f"EXPLAIN {FIND}", ["{}"] * 3)
            finally:
                close(lookup)

        plan = "\n".join(line.decode() for [line] in asyncio.run(explain()))
        assert set(re.findall(r"Scan using (\w+)", plan)) == {
            "accounts_account_pkey", "licensing_content_pkey", "licensing_policy_pkey", "requester_id_is_unique"
        }  # fmt: skip
        assert set(re.findall(r"(\w+) Scan on", plan)) == {"Function", "Subquery"}

    class Threads:
        """A stand-in for the gateway's threads that counts its uses."""

        def __init__(self) -> None:
            self.used = 0
            self.lookups = self.counted(look_up_now)
            self.requesters = self.counted(keep_requesters_now)

        def counted(self, call: Callable[[Sequence[Any]], list[Any]]) -> MicroBatch:
            def counting(many: Sequence[Any]) -> list[Any]:
                self.used += 1
                try:
                    return call(many)
                finally:
                    connection.close()

            return MicroBatch(InThread("counted", counting))

    @pytest.fixture
    def threads():
        return Threads()

    @pytest.fixture
    def look_up(threads, account):
        """Return the facts that a check finds in an uncached process."""

        async def find(check):
            gateway = Gateway()
            gateway.facts.lookups, gateway.facts.requesters = threads.lookups, threads.requesters
            try:
                return await gateway.facts.look_up(account.pk, [check])
            finally:
                close(gateway.facts.quick_lookups.call.__self__, gateway.facts.numbers.reserve.__self__)

        return lambda item, **fields: asyncio.run(find(Check(("contentId", item.pk), "org_acme", **fields)))

    @pytest.fixture
    def item(account):
        policy = factories.policy(account)
        compiled_policies.get([(policy.pk, 1)])
        return factories.content(account, policy_id=policy.pk)

    def test_a_cold_check_of_somebody_known_takes_no_thread(account, item, look_up, threads):
        known = make(account, name="Acme")
        found = look_up(item, requester_name="Acme")
        assert (found.requesters["org_acme"].pk, found.items["contentId", item.pk].id) == (known.pk, item.pk)
        assert threads.used == 0

    def test_somebody_new_gets_a_number_without_a_thread_and_is_not_written_before_the_record(
        account, item, look_up, threads
    ):
        first, second = (look_up(item, requester_name="Acme").requesters["org_acme"] for _ in range(2))
        assert first == RequesterSnapshot(first.pk, "Acme", is_written=False)
        assert second == replace(first, pk=second.pk)
        assert len({first.pk, second.pk, make(account).pk}) == 3
        assert threads.used == 0

    def test_a_new_name_takes_no_thread_and_is_not_written_before_the_record(account, item, look_up, threads):
        known = make(account)
        assert look_up(item, requester_name="Ajax").requesters["org_acme"] == RequesterSnapshot(
            known.pk, "Ajax", is_written=False
        )
        assert look_up(item).requesters["org_acme"] == RequesterSnapshot(known.pk, None)
        assert threads.used == 0

    def test_a_licence_that_was_issued_or_revoked_is_compiled_by_one_check_for_all_that_follow(
        account, item, look_up, threads
    ):
        def revoked():
            return [term.revoked for term in look_up(item).requesters["org_acme"].licenses.terms]

        held = factories.license(account)
        assert (revoked(), revoked(), threads.used) == ([False], [False], 1)
        revoke_license(held)
        assert (revoked(), revoked(), threads.used) == ([True], [True], 2)
