"""Simultaneous requests share a commit; each is stored entirely or not at all, and nothing is charged twice."""

from datetime import UTC, datetime, timedelta

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.utils import timezone
from msgspec.structs import astuple, replace

from accounts.keys.authentication import Grant, find_grant
from accounts.keys.callers import Caller, admit
from accounts.models import IdempotencyRecord
from accounts.plans.epochs import current_epoch, invalidate
from analytics.models import AccessEvent, LedgerEntry
from analytics.recording import outcomes
from analytics.recording.entries import KeyClaim, Reply
from analytics.recording.outcomes import LATE, RECORDED_WITHIN, STALE, TAKEN, UNAWAITED
from analytics.usage.report import usage_report
from analytics.windows import Window
from kit.http.errors import ServiceUnavailable
from kit.storage.outage_causes import OutageLog
from kit.values import ids
from licensing.access.check_values import Check
from licensing.access.checks import check_access
from licensing.access.decisions import decide_checks
from licensing.access.event_loop.callers import Sender
from licensing.access.event_loop.gateway import Gateway
from licensing.access.lookup.items import find_items
from licensing.access.lookup.requesters import keep_requesters
from licensing.access.subjects import LookupResult
from tests import factories

LIMITED = factories.ALLOW_ALL | {"rateLimit": {"requests": 5, "period": "second"}}


@pytest.fixture
def gateway(application) -> Gateway:
    return application.gateway


@pytest.fixture
def grant(api) -> Grant:
    return find_grant(api.headers["Authorization"].removeprefix("Bearer "))


@pytest.fixture
def checks(account) -> list[Check]:
    """Checks of a charged item without a limit, and of one with a limit."""
    factories.license(account, per_access="1", starts_at=datetime(2025, 1, 1, tzinfo=UTC))
    policies = [factories.policy(account, factories.ALLOW_ALL), factories.policy(account, LIMITED)]
    items = [factories.content(account, policy_id=policy.pk) for policy in policies]
    return [Check(("contentId", item.pk), "org_acme") for item in items]


@pytest.fixture
def entries_of(gateway, grant, account):
    def made(checks: list[Check], moment: datetime):
        items = find_items(account.pk, {check.selector for check in checks})
        found = LookupResult(current_epoch(account.pk), items, keep_requesters(account.pk, {"org_acme": None}))
        return decide_checks(checks, found, grant.account_key, moment, grant).entries

    return made


MOMENT, *NEXT = (datetime(2026, 1, 1, 23, 59, 58, tzinfo=UTC) + timedelta(seconds=number) for number in range(3))


@pytest.fixture(autouse=True)
def now(clock) -> None:
    clock.now = NEXT[-1]


@pytest.mark.parametrize("moment", NEXT, ids=["second", "day"])
def test_a_request_that_cannot_share_a_commit_leaves_nothing_of_it_behind(gateway, checks, entries_of, moment):
    first = entries_of(checks[1:], MOMENT)
    second = entries_of(checks, moment)
    [one], others = async_to_sync(gateway.commits.record)([first, second])
    assert one.is_stored
    assert not any(outcome.is_stored for outcome in others)
    assert (AccessEvent.objects.count(), LedgerEntry.objects.filter(type="usage").count()) == (1, 1)


def test_a_postponed_record_invalidates_no_cache(gateway, api, grant, checks, entries_of, monkeypatch):
    earlier = entries_of(checks[1:], MOMENT)
    alone = gateway.commits.records.call

    async def after_another(many):
        monkeypatch.setattr(gateway.commits.records, "call", alone)
        return (await alone([earlier, *many]))[1:]

    async def run():
        sender = Sender(gateway.callers, api.headers["Authorization"], None)
        await admit(sender)
        monkeypatch.setattr(gateway.commits.records, "call", after_another)
        answers = await gateway.check(sender, checks, NEXT[0])
        return answers, [gateway.snapshot.get(grant.account_id, check.selector) for check in checks]

    answers, cached = async_to_sync(run)()
    assert all(answer.decision.allowed for answer in answers)
    assert None not in cached
    assert AccessEvent.objects.count() == LedgerEntry.objects.filter(type="usage").count() == 3


def test_stale_decisions_do_not_affect_later_ones_of_the_same_commit(gateway, account, checks, entries_of):
    old = entries_of(checks, NEXT[0])
    factories.license(account, "somebody_else")
    new = entries_of(checks, NEXT[0])
    before, after = async_to_sync(gateway.commits.record)([old, new])
    assert before == [STALE, STALE]
    assert all(outcome.is_stored for outcome in after)
    assert AccessEvent.objects.count() == 2


def test_of_a_client_that_has_left_nothing_is_stored_in_a_shared_commit(gateway, checks, entries_of):
    waiting = [replace(entry, is_awaited=lambda: True) for entry in entries_of(checks, NEXT[0])]
    left = [replace(entry, is_awaited=lambda: False) for entry in entries_of(checks, NEXT[0])]
    stored, refused = async_to_sync(gateway.commits.record)([waiting, left])
    assert [outcome.is_stored for outcome in stored] == [True, True]
    assert refused == [UNAWAITED, UNAWAITED]
    assert AccessEvent.objects.count() == LedgerEntry.objects.filter(type="usage").count() == 2


def test_a_late_decision_is_dropped_from_the_commit_without_the_others(gateway, clock, checks, entries_of):
    waited, other = entries_of(checks[:1], MOMENT), entries_of(checks[:1], MOMENT + timedelta(seconds=2))
    clock.now = MOMENT + RECORDED_WITHIN + timedelta(seconds=1)
    refused, stored = async_to_sync(gateway.commits.record)([waited, other])
    assert refused == [LATE]
    assert [outcome.is_stored for outcome in stored] == [True]
    assert AccessEvent.objects.count() == 1


def test_a_check_that_waited_too_long_for_a_thread_is_refused_and_logged_once(
    grant, account, checks, caplog, monkeypatch
):
    monkeypatch.setattr(outcomes, "outages", OutageLog())
    waited = timezone.now() - RECORDED_WITHIN - timedelta(seconds=1)
    for _ in range(2):
        with pytest.raises(ServiceUnavailable):
            check_access(account.pk, checks, waited, Caller(grant, None, "access:check", None))
    assert AccessEvent.objects.count() == 0
    assert caplog.messages == ["The database did not answer (timeout): a decision was not recorded within 8 seconds"]


def test_recording_changes_no_entry(gateway, checks, entries_of):
    entries = [*entries_of(checks, NEXT[0]), *entries_of(checks, NEXT[0])]
    before = [astuple(entry.case) for entry in entries]
    async_to_sync(gateway.commits.record)([entries[:2], entries[2:]])
    assert AccessEvent.objects.count() == 4
    assert [astuple(entry.case) for entry in entries] == before


@pytest.fixture
def alike(account, entries_of):
    """Return the entries of a request with ten checks that are decided identically."""
    policy = factories.policy(account, factories.ALLOW_ALL)
    items = [factories.content(account, policy_id=policy.pk) for _ in range(10)]
    checks = [Check(("contentId", item.pk), "org_acme", names_item_alone=True) for item in items]
    return lambda: entries_of(checks, timezone.now())


def counted(account) -> int:
    now = timezone.now()
    window = Window(now - timedelta(days=1), now + timedelta(days=1), "day")
    return usage_report([account.pk], window)["summary"]["totalRequests"]


def test_decisions_on_facts_that_have_changed_are_not_counted(gateway, account, alike):
    stale = alike()
    invalidate(account.pk, None)
    [outcomes] = async_to_sync(gateway.commits.record)([stale])
    assert outcomes[0] == STALE
    assert (counted(account), AccessEvent.objects.count()) == (0, 0)


@pytest.mark.skipif(connection.vendor == "sqlite", reason="On SQLite a transaction of its own keeps a reply.")
def test_decisions_of_a_key_that_is_taken_are_not_counted(gateway, account, alike):
    now = timezone.now()
    for age, taken, stored in ((0, False, 10), (0, True, 10), (86_399, True, 10), (86_400, False, 20)):
        created = (now + timedelta(seconds=age)).isoformat()
        reply = Reply(KeyClaim(ids.id_to_hex("acc", account.pk), "a-key", "00", created), b"sealed")
        [[outcome]] = async_to_sync(gateway.commits.record)([[replace(entry, reply=reply) for entry in alike()]])
        assert (outcome == TAKEN) is taken
        assert counted(account) == AccessEvent.objects.count() == stored


@pytest.mark.skipif(connection.vendor == "sqlite", reason="On SQLite a transaction of its own keeps a reply.")
def test_a_decision_on_facts_that_have_changed_takes_no_key(gateway, account, alike):
    reply = Reply(KeyClaim(ids.id_to_hex("acc", account.pk), "a-key", "00", timezone.now().isoformat()), b"sealed")
    stale = [replace(entry, reply=reply) for entry in alike()]
    invalidate(account.pk, None)
    [[outcome]] = async_to_sync(gateway.commits.record)([stale])
    assert outcome == STALE
    assert not IdempotencyRecord.objects.exists()
