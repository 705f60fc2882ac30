from unittest.mock import Mock

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.keys.callers import admit
from accounts.plans import epochs
from accounts.plans.epochs import current_epoch
from analytics.models import LedgerEntry
from analytics.recording.recorder import commit
from kit.bounded_cache import Values
from kit.storage import microbatch
from kit.storage.microbatch import MicroBatch
from kit.values import ids
from licensing.access.check_values import Check
from licensing.access.decisions import decide_checks
from licensing.access.event_loop import gateway
from licensing.access.event_loop.callers import Sender
from licensing.access.lookup.items import find_items
from licensing.access.lookup.pages import compiled_policies
from licensing.access.lookup.requesters import find_requesters
from licensing.access.subjects import Item, LookupResult
from licensing.content.models import Content
from licensing.policies import rules
from licensing.policies import services as policy_services
from tests import factories, largest
from tests.ways import GatewayClient, make_application


@pytest.fixture
def policy(account):
    return factories.policy(account, factories.ALLOW_ALL)


@pytest.fixture
def item(account, policy):
    return factories.content(account, policy_id=policy.pk, source="https://example.com/a")


@pytest.fixture
def check(api, item):
    """Check access once before the test begins, so that everything is cached."""

    def send(**fields):
        return api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme", **fields})

    assert send()["allowed"]
    return send


def test_a_warm_check_reads_no_sql_but_its_record(check, django_assert_num_queries, settings):
    # A savepoint and its release; on SQLite also the epoch, the event and the five rollups.
    with django_assert_num_queries(2 if "postgresql" in settings.DATABASES["default"]["ENGINE"] else 9):
        assert check()["allowed"]


@pytest.mark.parametrize("works", [microbatch.MANY_WORKS, 1], ids=["rendered afterwards", "rendered meanwhile"])
def test_a_decision_on_facts_that_changed_meanwhile_is_not_recorded_but_made_again(
    api, check, item, policy, application, works, monkeypatch
):
    monkeypatch.setattr(microbatch, "MANY_WORKS", works)
    gateway = application.gateway
    write = gateway.commits.write

    async def write_after_the_policy_has_changed(entries):
        monkeypatch.setattr(gateway.commits, "write", write)
        await sync_to_async(policy_services.update_policy)(policy, {"rules": [factories.DENY_ALL]})
        return await write(entries)

    monkeypatch.setattr(gateway.commits, "write", write_after_the_policy_has_changed)
    assert check()["reason"] == "policy_denied"
    assert api.get("/v1/access/decisions")["totalCount"] == 2


def test_memory_for_what_is_cached_is_bounded(api, account, policy, application):
    application.gateway.snapshot.max_weight = 20
    for number in range(30):
        item = factories.content(account, policy_id=policy.pk)
        assert api.post("/v1/access/check", {"contentId": item.pk, "requester": f"org_{number}"})["allowed"]
    assert 10 <= len(application.gateway.snapshot.entries) <= 20


def test_items_with_long_tags_take_more_of_that_memory(api, account, policy, application):
    application.gateway.snapshot.max_weight = 60
    for _ in range(10):
        item = factories.content(account, policy_id=policy.pk, tags=largest.content()["tags"])
        assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "r"})["allowed"]
    assert len(application.gateway.snapshot.entries) <= 3


def with_room_for(weight, monkeypatch):
    cached = compiled_policies.cached
    monkeypatch.setattr(cached, "values", Values(cached.values.getsizeof, weight))


def test_an_item_keeps_no_policy_in_memory_that_the_process_has_dropped(api, account, application, monkeypatch):
    with_room_for(200_000, monkeypatch)
    for number in range(6):
        policy = factories.policy(account, *largest.rules_of(3_000), {**factories.ALLOW_ALL, "message": str(number)})
        item = factories.content(account, policy_id=policy.pk)
        for _ in range(2):
            reply = api.post("/v1/access/check", {"contentId": item.pk, "requester": "r"})
            assert (reply["allowed"], reply["message"]) == (True, str(number))
    kept = [entry.policy for _, entry in application.gateway.snapshot.entries.values() if isinstance(entry, Item)]
    assert 1 <= len(kept) < 6
    assert sum(policy.size for policy in kept) <= 200_000


def test_items_too_large_for_the_cache_are_decided_without_it(api, account, application, monkeypatch):
    with_room_for(10_000, monkeypatch)
    policy = factories.policy(account, *largest.rules_of(12_000), factories.ALLOW_ALL)
    item = factories.content(account, policy_id=policy.pk)
    for _ in range(3):
        assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "r"})["allowed"]
    assert not any(isinstance(entry, Item) for _, entry in application.gateway.snapshot.entries.values())


def test_an_item_that_the_loop_leaves_to_a_thread_is_found_by_it(api, account, policy, application):
    asked = []

    async def leave(many):
        asked.extend(wanted.selectors for wanted in many)
        return [None] * len(many)

    application.gateway.facts.quick_lookups = MicroBatch(leave)
    items = [factories.content(account, policy_id=policy.pk).pk for _ in range(2)]
    for item in items:
        assert api.post("/v1/access/check", {"contentId": item, "requester": "org_acme"})["contentId"] == item
    assert asked == [{("contentId", item)} for item in items]


@pytest.mark.parametrize("licensed", [False, True])
def test_another_change_of_the_account_is_no_reason_to_read_licences_again(check, account, policy, licensed):
    if licensed:
        factories.license(account)
        assert check()["license"]
    policy_services.update_policy(policy, {"name": "Renamed"})
    with CaptureQueriesContext(connection) as captured:
        assert check()["policyVersion"] == 2
    assert not any("licensing_license" in query["sql"] for query in captured.captured_queries)


def test_a_charge_that_no_total_can_hold_is_the_failure_of_its_own_account_alone(account, other_account):
    entries = []
    for owner in (account, other_account):
        factories.license(owner, per_access="1000000000000")
        item = factories.content(owner, policy_id=factories.policy(owner).pk)
        selector = ("contentId", item.pk)
        requesters = find_requesters(owner.pk, {"org_acme"})
        found = LookupResult(current_epoch(owner.pk), find_items(owner.pk, {selector}), requesters)
        count = 10 if owner == account else 1  # ten of them are past 64 bits
        checks = [Check(selector, "org_acme")] * count
        entries += decide_checks(checks, found, ids.id_to_hex("acc", owner.pk), timezone.now()).entries

    outcomes = commit(entries)

    assert outcomes[-1].is_stored
    refused = [not outcome.is_stored for outcome in outcomes[:-1]]
    assert refused == [connection.vendor == "sqlite"] * 10
    assert LedgerEntry.objects.count() == sum(outcome.is_stored for outcome in outcomes)


def test_changed_metadata_decides_the_next_check_in_another_process(account, application):
    rule = {"action": "allow", "conditions": {"attributes": {"country": "DE"}}, "permissions": ["read"]}
    item = factories.content(account, policy_id=factories.policy(account, rule).pk)
    body = {"contentId": item.pk, "requester": "org_acme"}
    first, second = (GatewayClient(factories.key_text(account), one) for one in (application, make_application()))
    first.post("/v1/requesters", {"id": "org_acme", "metadata": {"country": "FR"}})

    def answers():
        return [client.post("/v1/access/check", body)["allowed"] for client in (first, second)]

    assert answers() == [False, False]
    first.patch("/v1/requesters/org_acme", {"metadata": {"country": "DE"}})
    assert answers() == [True, True]
    second.patch("/v1/requesters/org_acme", {"metadata": {"country": None}})
    assert answers() == [False, False]


ALLOW, DENY = ({"action": action, "conditions": {"requesterId": ["org_acme"]}} for action in ("allow", "deny"))
TESTS = [{"requester": {"id": "org_acme"}, "expect": {"allowed": False}}]


def test_rules_are_parsed_once_and_the_next_check_decides_once(
    application, api, account, monkeypatch, django_capture_on_commit_callbacks
):
    monkeypatch.setattr(epochs, "listeners", [application.gateway.snapshot.hear])
    policy = factories.policy(account, ALLOW)
    check = {"contentId": factories.content(account, policy_id=policy.pk).pk, "requester": "org_acme"}
    assert api.post("/v1/access/check", check)["allowed"]

    parse, decide = Mock(wraps=rules.parse_rule), Mock(wraps=gateway.decide_checks)
    monkeypatch.setattr(rules, "parse_rule", parse)
    monkeypatch.setattr(gateway, "decide_checks", decide)
    with django_capture_on_commit_callbacks(execute=True):
        changed = api.patch(f"/v1/policies/{policy.pk}", {"rules": [DENY], "tests": TESTS})
    assert changed.status == 200
    assert not api.post("/v1/access/check", check)["allowed"]
    assert (parse.call_count, decide.call_count) == (1, 1)


def test_a_check_is_decided_on_facts_of_the_new_primary_alone(application, api, account, monkeypatch):
    gateway = application.gateway
    allowing, denying = factories.policy(account, factories.ALLOW_ALL), factories.policy(account)
    item = factories.content(account, policy_id=allowing.pk)
    quick = gateway.facts.quick_lookups or gateway.facts.lookups
    read = quick.call

    async def after_a_promotion(many):
        monkeypatch.setattr(quick, "call", read)
        gateway.forget()
        await sync_to_async(Content.objects.filter(pk=item.pk).update)(policy_id=denying.pk)
        return await read(many)

    async def run():
        answers = []
        for requester in ("org_acme", "org_new"):
            sender = Sender(gateway.callers, api.headers["Authorization"], None)
            await admit(sender)
            answers += await gateway.check(sender, [Check(("contentId", item.pk), requester)], timezone.now())
            monkeypatch.setattr(quick, "call", after_a_promotion)
        return answers

    assert [answer.decision.allowed for answer in async_to_sync(run)()] == [True, False]
