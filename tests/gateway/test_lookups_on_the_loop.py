"""The event loop finds what a thread finds, and leaves to a thread whose policy, licences or site are not cached."""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from threading import Condition, Thread
from typing import Any

import pytest
from django.db import connection

from accounts.keys.authentication import find_grant
from accounts.plans.epochs import current_epoch
from kit.http.errors import InvalidApiKey
from kit.storage.microbatch import MicroBatch
from licensing.access.check_values import Check
from licensing.access.event_loop.blocking_calls import keep_requesters_now, look_up_account, look_up_now
from licensing.access.event_loop.callers import AsyncKeys
from licensing.access.event_loop.calls import InThread
from licensing.access.event_loop.gateway import Gateway
from licensing.access.event_loop.lookup import FIND_SQL, AsyncLookup, needs_no_thread
from licensing.access.lookup.pages import compiled_policies
from licensing.access.lookup.requesters import find_requesters
from licensing.access.subjects import LookupRequest, LookupResult, RequesterSnapshot, Selector
from licensing.content import services as content_services
from licensing.licenses.services import revoke_license
from licensing.policies import services as policy_services
from licensing.requesters.models import Requester
from licensing.sites.patterns import MAX_WILDCARDS
from licensing.sites.services import update_site
from tests import factories
from tests.gateway.conftest import closed


def found_on_the_loop(*many: LookupRequest) -> list[LookupResult | None]:
    async def find() -> list[LookupResult | None]:
        lookup = AsyncLookup()
        with closed(lookup.sessions):
            first, second = [await lookup.find_facts(many) for _ in range(2)]  # prepared once, then used
        assert [*first] == [*second]
        return [*first]

    return asyncio.run(find())


def found_while(change: Callable[[], Iterator[None]], wanted: LookupRequest) -> list[LookupResult | None]:
    """Return the results of repeated look-ups during another thread's changes.

    `change` yields after each change, and goes on once a look-up that began after it has ended.
    """
    found: list[LookupResult | None] = []
    looked = Condition()

    async def look() -> None:
        lookup = AsyncLookup()
        with closed(lookup.sessions):
            while writer.is_alive():
                result = await lookup.find_facts([wanted])
                with looked:
                    found.extend(result)
                    looked.notify_all()

    def wait_for_a_look() -> None:
        with looked:
            enough = len(found) + 2  # one look-up may be under way
            assert looked.wait_for(lambda: len(found) >= enough, 60)

    def write() -> None:
        try:
            for _ in change():
                wait_for_a_look()
        finally:
            connection.close()

    writer = Thread(target=write)
    writer.start()
    asyncio.run(look())
    writer.join()
    return found


pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite is read in threads."),
]

HOST = "https://pub.example"
NO_ITEM = "cnt_00000000000000000000000000"


def by_id(*content_ids: str) -> set[Selector]:
    return {("contentId", content_id) for content_id in content_ids}


def at(*targets: str) -> set[Selector]:
    """Select pages of the site."""
    return {("page", HOST + target) for target in targets}


def wanted(account, selectors: set[Selector] = frozenset(), *requesters: str) -> LookupRequest:
    return LookupRequest(account.pk, set(selectors), set(requesters))


def in_a_thread(one: LookupRequest) -> LookupResult:
    return look_up_account(one)


def expect_the_same(*many: LookupRequest) -> list[LookupResult]:
    """Assert that the event loop finds what a thread finds, and return it."""
    found = found_on_the_loop(*many)
    assert found == [in_a_thread(one) for one in many]
    return found


@pytest.fixture
def policy(account):
    policy = factories.policy(account, factories.ALLOW_ALL)
    compiled_policies.get([(policy.pk, 1)])
    return policy


@pytest.fixture
def site(account, policy):
    """A site that this process has read, as have been the policies."""
    rules = {"/premium/*": factories.policy(account, factories.DENY_ALL), "/free/*": policy}
    made = factories.site(account, rules, host="pub.example")
    in_a_thread(wanted(account, at("/premium/a", "/free/a")))
    return made


def test_items_named_by_ids_and_pages_with_one_reading_need_no_thread(account):
    assert needs_no_thread(wanted(account, by_id(NO_ITEM), "org_acme"))
    assert not needs_no_thread(wanted(account, {*by_id(NO_ITEM), ("externalId", "a")}))
    for target in ("", "/", "/a/b", "/b%C3%BCcher?id=5&page=2", "/a.html?", "/a//b", "/a/../b"):
        assert needs_no_thread(wanted(account, at(target))), target
    several = ["/a;x/b", "/a%2e%2e/..//b", "/a%5Cb", "/a%00", "/a?b;c", "/a?b%26c", "/" + 500 * "a", "/?" + 10 * "a&"]
    for target in several:
        assert not needs_no_thread(wanted(account, at(target))), target


KINDS = {
    "plain": {},
    "without a policy": {"policy_id": None},
    "of another type": {"type": "dataset"},
    "with tags": {"tags": ["news", "größer \"als\" '{},NULL'", "\\"]},
    "with a category": {"category": "Ökonomie"},
    "with an empty category": {"category": ""},
    "with tags and a category": {"tags": ["news", "größer"], "category": "Ökonomie"},
    "archived": {"status": "archived"},
}


@pytest.mark.parametrize("fields", KINDS.values(), ids=KINDS)
def test_an_item_and_its_page_are_the_same_in_every_field(account, site, policy, fields):
    item = factories.content(account, **{"policy_id": policy.pk, "source": f"{HOST}/premium/a", **fields})
    in_a_thread(wanted(account, at("/")))  # reads the site again: the account has changed
    for selectors in (by_id(item.pk), at("/premium/a"), by_id(item.pk) | at("/premium/a")):
        [found] = expect_the_same(wanted(account, selectors))
        assert found.items.keys() == selectors
        assert {one.id for one in found.items.values()} == {item.pk}


def test_many_items_and_requesters_are_each_found_at_their_place(account, policy):
    factories.policy(account)
    items = [factories.content(account, policy_id=policy.pk, tags=[f"tag{n}"]).pk for n in range(30)]
    _, two = expect_the_same(wanted(account, by_id(*items)), wanted(account, by_id(items[7], NO_ITEM)))
    assert two.items.keys() == by_id(items[7])
    names = [factories.requester(account, requester_id=f"org_{number}").requester_id for number in range(20)]
    expect_the_same(*[wanted(account, by_id(item), name, names[0]) for item, name in zip(items, names, strict=False)])


def test_only_the_own_account_finds_an_item_and_a_requester(account, other_account, policy):
    item = factories.content(account, policy_id=policy.pk)
    factories.requester(account, requester_id="org_acme")
    stranger, owner = expect_the_same(*[wanted(one, by_id(item.pk), "org_acme") for one in (other_account, account)])
    unknown = {"org_acme": RequesterSnapshot(None, None)}
    assert stranger == LookupResult(current_epoch(other_account.pk), {}, unknown)
    assert owner.items.keys() == by_id(item.pk)
    assert owner.requesters["org_acme"].pk


@pytest.mark.parametrize("content_id", [NO_ITEM, "cnt_no", "NULL", "", '{"}', "cnt_8" + 25 * "z", "pol_" + 26 * "0"])
def test_malformed_item_ids_find_nothing(account, content_id):
    assert found_on_the_loop(wanted(account, by_id(content_id))) == [LookupResult(current_epoch(account.pk), {}, {})]


def test_a_deleted_item_is_not_found_and_decides_no_page(account, site, policy):
    item = factories.content(account, policy_id=policy.pk, source=f"{HOST}/premium/a")
    content_services.delete_content(item)
    in_a_thread(wanted(account, at("/")))
    by_its_id, at_its_url = expect_the_same(wanted(account, by_id(item.pk)), wanted(account, at("/premium/a")))
    assert by_its_id.items == {}
    assert [page.id for page in at_its_url.items.values()] == [site.pages_id]


def test_a_policy_that_is_not_compiled_is_left_to_a_thread_and_nothing_else(account, site, policy):
    item = factories.content(account, policy_id=policy.pk, source=f"{HOST}/a")
    bare = factories.content(account)
    policy_services.update_policy(policy, {"rules": [factories.DENY_ALL]})
    in_a_thread(wanted(account, at("/other")))  # reads the site again, and not this policy
    *left, kept = found_on_the_loop(
        *[wanted(account, selectors) for selectors in (by_id(item.pk), at("/a"), at("/free/a"), by_id(bare.pk))]
    )
    assert left == [None, None, None]
    assert kept.items.keys() == by_id(bare.pk)


def test_an_account_that_is_gone_is_left_to_a_thread(account):
    gone = [LookupRequest(f"acc_{'0' * 26}", selectors, set()) for selectors in (by_id(NO_ITEM), at("/a"))]
    assert found_on_the_loop(*gone, wanted(account, by_id(NO_ITEM)))[:2] == [None, None]


def test_pages_are_the_same_with_items_that_differ_by_parameters_and_age_and_with_patterns(account, site, policy):
    for number, query in enumerate(["", "?id=1", "?id=1&part=2", "?part=2", ""]):
        policies = {"policy_id": policy.pk} if number % 2 else {}
        factories.content(account, title=str(number), source=f"{HOST}/story{query}", **policies)
    in_a_thread(wanted(account, at("/")))
    targets = ["", "?id=1", "?id=1&part=2", "?id=2&part=2", "?part=2&id=1&utm=3"]
    expect_the_same(wanted(account, at(*(f"/story{target}" for target in targets))))
    [found] = expect_the_same(wanted(account, at("/premium/x", "/free/y?utm=1", "/other"), "org_acme"))
    assert len(found.items) == 3


def test_pages_at_an_alias_are_the_same_while_its_site_has_it(account, site, policy):
    at_alias = wanted(account, {("page", "https://www.pub.example/free/a")})
    update_site(site, {"aliases": ["www.pub.example"]})
    item = factories.content(account, source="https://www.pub.example/free/a", policy_id=policy.pk)
    in_a_thread(wanted(account, at("/")))
    in_a_thread(at_alias)
    for found in expect_the_same(wanted(account, at("/free/a")), at_alias):
        assert {one.id for one in found.items.values()} == {item.pk}
    update_site(site, {"aliases": []})
    in_a_thread(wanted(account, at("/")))
    assert found_on_the_loop(at_alias) == [None]


def test_a_page_of_a_site_that_is_not_cached_is_left_to_a_thread_and_nothing_else(account, other_account, site):
    left, kept = found_on_the_loop(wanted(other_account, at("/a")), wanted(account, at("/premium/a")))
    assert left is None
    assert kept == in_a_thread(wanted(account, at("/premium/a")))


def test_a_page_of_a_site_with_many_wildcards_is_left_to_a_thread(account, policy):
    patterns = [f"/{'*a' * MAX_WILDCARDS}{number}" for number in range(50)]
    factories.site(account, dict.fromkeys(patterns, policy), host="pub.example")
    in_a_thread(wanted(account, at("/premium/a")))
    assert found_on_the_loop(wanted(account, at("/premium/a"))) == [None]


OWN_IDS = ["org_acme", "NULL", "", " ", "größe", "日本", '{"a","b"}', "\\", '\\"', "a,b", "'", "%s $1", "x" * 255]


@pytest.mark.parametrize("name", [None, "Acme", "NULL", "Ökonomie 'n' \"more\""])
def test_a_requester_with_any_id_is_found_as_by_a_thread(account, name):
    for requester_id in OWN_IDS:
        factories.requester(account, requester_id=requester_id, name=name)
    for requester_id in OWN_IDS:
        [found] = expect_the_same(wanted(account, set(), requester_id))
        assert found.requesters[requester_id].name == name


def test_requester_ids_are_compared_with_case_and_spaces(account):
    ids = ["acme", "Acme", "acme ", " acme", "acmé", "acme\u0301"]
    rows = {name: factories.requester(account, requester_id=name).pk for name in ids}
    [found] = found_on_the_loop(wanted(account, set(), *ids))
    assert {name: known.pk for name, known in found.requesters.items()} == rows


def test_licences_that_are_compiled_are_found_until_they_change(account):
    held, acme = factories.license(account), wanted(account, set(), "org_acme")
    assert found_on_the_loop(acme) == [None]
    compiled = find_requesters(account.pk, ["org_acme"])
    assert found_on_the_loop(acme) == [LookupResult(current_epoch(account.pk), {}, compiled)]
    revoke_license(held)
    assert found_on_the_loop(acme) == [None]


@pytest.mark.parametrize("name", ["contentId", "page"])
def test_an_item_never_comes_with_an_epoch_that_is_not_its_own(account, site, policy, name):
    item = factories.content(account, policy_id=policy.pk, source=f"{HOST}/a")
    begin, changes = current_epoch(account.pk), 100

    def change():
        for number in range(1, changes + 1):
            content_services.update_content(item, {"category": str(number)})
            in_a_thread(wanted(account, at("/")))
            yield

    seen = set()
    for found in found_while(change, wanted(account, by_id(item.pk) if name == "contentId" else at("/a"))):
        assert found is not None or name == "page"
        if found is not None:  # otherwise its site has not been read again
            [known] = found.items.values()
            seen.add((found.epoch - begin, int(known.category or 0)))
    assert len(seen) >= changes
    assert all(epoch == category for epoch, category in seen)


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
    for found in found_while(change, wanted(account, by_id(item.pk), "org_acme")):
        if found is not None:
            [known], [requester] = found.items.values(), found.requesters.values()
            licences = len(requester.licenses.terms) if requester.licenses else 0
            seen.add((found.epoch - begin, licences, int(requester.name or 0), int(known.category or 0)))
    assert len(seen) >= changes
    # The first licence gives the name, and later ones keep it.
    assert seen <= {
        (epoch, (epoch + 1) // 2, min((epoch + 1) // 2, 1), epoch // 2) for epoch in range(2 * changes + 1)
    }


@pytest.fixture
def without_sequential_scans():
    """Let new sessions use indexes even of tables that autovacuum found empty."""
    database = connection.ops.quote_name(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {database} SET enable_seqscan = off")
    yield
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {database} RESET enable_seqscan")


@pytest.mark.usefixtures("without_sequential_scans")
@pytest.mark.parametrize("requesters", [0, 1, 500])
def test_every_row_is_looked_up_by_its_unique_index_however_many_there_are(account, requesters):
    Requester.objects.bulk_create(Requester(account=account, requester_id=f"org_{n}") for n in range(requesters))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE licensing_requester, licensing_content, licensing_policy")

    async def explain():
        lookup = AsyncLookup()
        with closed(lookup.sessions):
            return await lookup.sessions.run(f"EXPLAIN {FIND_SQL}", ["{}"] * 3)

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
        lookup, numbers = gateway.facts.quick_lookups.call.__self__, gateway.facts.numbers.reserve.__self__
        with closed(lookup.sessions), closed(numbers.sessions):
            return await gateway.facts.look_up(account.pk, [check])

    return lambda item, **fields: asyncio.run(find(Check(("contentId", item.pk), "org_acme", **fields)))


@pytest.fixture
def item(account, policy):
    return factories.content(account, policy_id=policy.pk)


def test_somebody_new_gets_a_number_without_a_thread_and_is_not_written_before_the_record(
    account, item, look_up, threads
):
    first, second = [look_up(item, requester_name="Acme").requesters["org_acme"] for _ in range(2)]
    assert first == RequesterSnapshot(first.pk, "Acme", is_written=False)
    assert second == replace(first, pk=second.pk)
    assert len({first.pk, second.pk, factories.requester(account, requester_id="org_acme").pk}) == 3
    assert threads.used == 0


def test_a_new_name_takes_no_thread_and_is_not_written_before_the_record(account, item, look_up, threads):
    known = factories.requester(account, requester_id="org_acme")
    named = look_up(item, requester_name="Ajax").requesters["org_acme"]
    assert named == RequesterSnapshot(known.pk, "Ajax", is_written=False)
    assert look_up(item).requesters["org_acme"] == RequesterSnapshot(known.pk, None)
    Requester.objects.update(name="Acme")
    found = look_up(item, requester_name="Acme")
    assert (found.requesters["org_acme"].pk, found.items["contentId", item.pk].id) == (known.pk, item.pk)
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


def test_keys_of_the_pepper_and_of_the_former_one_are_found_as_by_a_thread(account, settings):
    former = factories.key_text(account)
    deleted_key, deleted = factories.api_key(account)
    deleted_key.delete()
    settings.FORMER_PEPPERS = (sha256(b"long ago").digest(), settings.API_KEY_PEPPER)
    settings.API_KEY_PEPPER = sha256(b"another pepper").digest()
    current = factories.key_text(account)

    async def find():
        keys = AsyncKeys()
        with closed(keys.sessions):
            return await keys.find([current, former, deleted, former])

    *found, unknown, again = asyncio.run(find())
    assert found == [find_grant(current), find_grant(former)]
    assert [grant.new_digest is None for grant in found] == [True, False]
    assert isinstance(unknown, InvalidApiKey)
    assert again == found[1]
