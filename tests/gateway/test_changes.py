from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from unittest.mock import AsyncMock, Mock

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.core.management import call_command
from django.db.models import F
from django.utils import timezone

from accounts.keys import services as key_services
from accounts.keys.callers import admit
from accounts.models import Account, EpochChange
from accounts.plans import epochs
from accounts.plans import services as plan_services
from analytics.models import AccessEvent
from kit.values import ids
from licensing.access.check_values import Check
from licensing.access.deciding import Answer
from licensing.access.decisions import decide_checks
from licensing.access.event_loop import gateway as gateway_module
from licensing.access.event_loop import snapshot
from licensing.access.event_loop.callers import Sender
from licensing.clients import services as client_services
from licensing.content import services as content_services
from licensing.content.bulk import ContentBulk, Row
from licensing.licenses.services import revoke_license
from licensing.policies import services as policy_services
from licensing.sites import services as site_services
from operators.catalogue.bulk_change import change_items
from tests import factories
from tests.gateway.conftest import Ask

URL = "https://example.com/a"
BY_ID, BY_EXTERNAL_ID, BY_URL = ("contentId", "a"), ("externalId", "ext_a"), ("source", URL)
BY_ANOTHER_SPELLING = ("source", "HTTPS://example.com:443/a")
WAYS_TO_A = {"a", "ext_a", URL, "HTTPS://example.com:443/a"}
REQUESTERS = {"org_acme", "org_other"}
ALL = WAYS_TO_A | REQUESTERS | {"b", "c"}


@pytest.fixture
def made(account, tmp_path):
    """Items a and b under one policy, c under another; two requesters with licences; a site; a client; another key."""
    first, second = (factories.policy(account, factories.ALLOW_ALL) for _ in range(2))
    return SimpleNamespace(
        account=account,
        first=first,
        second=second,
        a=factories.content(account, policy_id=first.pk, source=URL, external_id="ext_a"),
        b=factories.content(account, policy_id=first.pk),
        c=factories.content(account, policy_id=second.pk),
        licenses=[factories.license(account, one) for one in sorted(REQUESTERS)],
        client=factories.license_client(account, "org_other")[0],
        site=factories.site(account, {"/": first}),
        key=factories.api_key(account)[0],
        file=tmp_path / "items.csv",
    )


@pytest.fixture
def looked_up(made, ask: Ask, application, monkeypatch) -> Callable[[], set[str]]:
    """Return a function that checks everything and returns what was not cached."""
    asked: list[str] = []
    names = {getattr(made, name).pk: name for name in "abc"}
    read = application.gateway.facts.read

    async def noted(wanted):
        asked.extend(names.get(value, value) for _, value in wanted.selectors)
        asked.extend(wanted.requesters)
        return await read(wanted)

    monkeypatch.setattr(application.gateway.facts, "read", noted)

    def look() -> set[str]:
        asked.clear()
        for selector in (BY_ID, BY_EXTERNAL_ID, BY_URL, BY_ANOTHER_SPELLING, ("contentId", "b"), ("contentId", "c")):
            name, value = selector
            item = getattr(made, value).pk if name == "contentId" else value
            for requester in sorted(REQUESTERS):
                ask(Check((name, item), requester))
        return set(asked)

    assert look() == ALL
    assert look() == set()
    return look


def by_hand(made) -> None:
    Account.objects.filter(pk=made.account.pk).update(epoch=F("epoch") + 1)


def imported(made) -> None:
    """Import a new title for item `a`, the same for another item, and new items."""
    factories.content(made.account, external_id="same", title="Same", source="https://example.com/same")
    rows = ["ext_a,Changed", "same,Same", *(f"new_{number},New" for number in range(50))]
    made.file.write_text("\n".join(["externalId,title", *rows]))
    call_command("import_content", str(made.file), "--account", made.account.pk)


def forgotten(made) -> None:
    content_services.update_content(made.c, {"title": "Changed"})
    EpochChange.objects.all().delete()


# Each change, and the cache entries that it invalidates.
CHANGES: dict[str, tuple[Callable[[SimpleNamespace], object], Iterable[str]]] = {
    "an item": (lambda made: content_services.update_content(made.a, {"title": "Changed"}), WAYS_TO_A),
    "another item": (lambda made: content_services.update_content(made.c, {"tags": ["new"]}), {"c"}),
    "an item's externalId": (lambda made: content_services.update_content(made.a, {"external_id": "x"}), WAYS_TO_A),
    "an item's URL": (lambda made: content_services.update_content(made.a, {"source": None}), WAYS_TO_A),
    "an item that moves to its URL": (
        lambda made: content_services.update_content(made.b, {"source": URL}),
        {"b", URL, BY_ANOTHER_SPELLING[1]},
    ),
    "an item that is deleted": (lambda made: content_services.delete_content(made.b), {"b"}),
    "a new item": (lambda made: factories.content(made.account, policy_id=made.first.pk), ()),
    "a new item elsewhere": (lambda made: factories.content(made.account, source="https://example.com/new"), ()),
    "a new item at its URL": (
        lambda made: factories.content(made.account, source=f"{URL}#top"),
        {URL, BY_ANOTHER_SPELLING[1]},
    ),
    "items at once": (
        lambda made: change_items(made.account.pk, [made.b.pk, made.c.pk], {"status": "archived"}),
        {"b", "c"},
    ),
    "items in bulk": (
        lambda made: ContentBulk.write_rows(
            made.account.pk,
            [Row({"external_id": "ext_a", "title": "Changed"}), Row({"title": "New"}), Row({"title": "B"}, made.b.pk)],
        ),
        WAYS_TO_A | {"b"},
    ),
    "an import": (imported, WAYS_TO_A),
    "a policy": (
        lambda made: policy_services.update_policy(made.first, {"rules": [factories.DENY_ALL]}),
        WAYS_TO_A | {"b"},
    ),
    "another policy": (lambda made: policy_services.update_policy(made.second, {"name": "Changed"}), {"c"}),
    "a new policy": (lambda made: factories.policy(made.account), ()),
    "a new licence": (lambda made: factories.license(made.account, "org_acme"), {"org_acme"}),
    "a revoked licence": (lambda made: revoke_license(made.licenses[1]), {"org_other"}),
    "a licence of somebody else": (lambda made: factories.license(made.account, "org_new"), ()),
    "a revoked client": (lambda made: client_services.revoke_client(made.client), {"org_other"}),
    "another key": (lambda made: key_services.revoke_api_key(made.key), ()),
    "a new key": (lambda made: factories.api_key(made.account), ()),
    "a site": (lambda made: site_services.update_site(made.site, {"unknown": "deny"}), ALL),
    "the account": (lambda made: plan_services.update_account(made.account, {"name": "Changed"}), ALL),
    "what somebody did by hand": (by_hand, ALL),
    "what nobody knows any more": (forgotten, ALL),
}


@pytest.mark.parametrize(("change", "ended"), CHANGES.values(), ids=CHANGES)
def test_a_change_invalidates_only_its_dependent_facts(made, looked_up, change, ended):
    change(made)
    assert looked_up() == set(ended)


UNRELATED: dict[str, Callable[[SimpleNamespace], object]] = {
    name: CHANGES[name][0] for name in ("another item", "another policy", "a revoked licence", "another key")
}
RELATED = {name: CHANGES[name][0] for name in CHANGES if {URL, "org_acme"} & set(CHANGES[name][1])}


@pytest.fixture
def decided(made, looked_up, ask: Ask, application, monkeypatch) -> Callable[..., int]:
    """Return a function that counts how often one check is decided if a change comes before its record."""
    gateway, decide = application.gateway, Mock(wraps=decide_checks)
    write = gateway.commits.write

    async def write_after(change, entries):
        monkeypatch.setattr(gateway.commits, "write", write)
        await sync_to_async(change)(made)
        return await write(entries)

    def decided(change: Callable[[SimpleNamespace], object]) -> int:
        before = AccessEvent.objects.count()
        monkeypatch.setattr(gateway.commits, "write", partial(write_after, change))
        monkeypatch.setattr(gateway_module, "decide_checks", decide)
        answer = ask(Check(BY_URL, "org_acme"))
        assert AccessEvent.objects.count() == before + isinstance(answer, Answer)
        return decide.call_count

    return decided


@pytest.mark.parametrize("change", UNRELATED.values(), ids=UNRELATED)
def test_a_decision_that_an_unrelated_change_overtakes_is_recorded(decided, change):
    assert decided(change) == 1


@pytest.mark.parametrize("change", RELATED.values(), ids=RELATED)
def test_a_decision_that_a_change_of_its_facts_overtakes_is_made_again(decided, change):
    assert decided(change) > 1


def test_a_decision_by_a_key_that_has_changed_meanwhile_is_made_again(decided, ask: Ask):
    assert decided(lambda made: key_services.update_api_key(ask.key, {"name": "Changed"})) > 1


def test_a_process_that_is_told_of_an_unrelated_change_forgets_what_it_ended(decided, looked_up):
    decided(CHANGES["another item"][0])
    assert looked_up() == {"c"}


def test_several_changes_invalidate_all_of_their_dependent_facts(made, looked_up):
    for _ in range(3):
        content_services.update_content(made.b, {"title": f"Changed {timezone.now()}"})
    revoke_license(made.licenses[0])
    assert looked_up() == {"b", "org_acme"}
    assert looked_up() == set()


def test_more_changes_than_are_worth_reading_end_everything(made, looked_up, monkeypatch):
    monkeypatch.setattr(epochs, "CHANGES_SINCE_SQL", epochs.CHANGES_SINCE_SQL.replace(str(epochs.MAX_MISSED), "2"))
    for number in range(3):
        content_services.update_content(made.b, {"title": f"Changed {number}"})
    assert looked_up() == ALL


def test_the_known_changes_of_a_process_are_bounded(made, looked_up, monkeypatch):
    monkeypatch.setattr(snapshot, "MAX_CHANGES", 2)
    for one in (made.b, made.c):
        content_services.update_content(one, {"title": "Changed"})
        assert looked_up() == {"b" if one is made.b else "c"}
    content_services.update_content(made.b, {"source": "https://example.com/b"})
    assert looked_up() == ALL


def test_a_change_of_another_account_ends_nothing(other_account, looked_up):
    plan_services.update_account(other_account, {"name": "Changed"})
    assert looked_up() == set()


def test_a_key_is_read_again_when_it_has_changed_and_not_when_something_else_has(made, ask: Ask, application):
    callers = application.gateway.callers
    callers.read_grant = read = AsyncMock(wraps=callers.read_grant)
    for changed, times in ((None, 1), (made.c, 1), (made.first, 1), (None, 1)):
        if changed is made.c:
            content_services.update_content(made.c, {"title": "Changed"})
        if changed is made.first:
            policy_services.update_policy(made.first, {"name": "Changed"})
        ask(Check(("contentId", made.c.pk), "org_acme"))
        assert read.await_count == times
    key_services.update_api_key(ask.key, {"name": "Changed"})
    ask(Check(("contentId", made.c.pk), "org_acme"))
    assert read.await_count == 2


def test_a_request_admitted_before_an_unrelated_change_is_not_admitted_again(made, ask: Ask, application):
    gateway = application.gateway
    check = Check(("contentId", made.a.pk), "org_acme")

    async def begin() -> Sender:
        sender = Sender(gateway.callers, ask.authorization, None)
        await admit(sender)
        return sender

    ask(check)
    sender = async_to_sync(begin)()
    content_services.update_content(made.c, {"title": "Changed"})
    ask(check)
    sender.authorize = pytest.fail  # type: ignore[assignment]
    [answer] = async_to_sync(gateway.check)(sender, [check], timezone.now())
    assert answer.decision.allowed


def test_changes_are_forgotten_after_a_while(made):
    EpochChange.objects.update(created=timezone.now() - epochs.LIFETIME - timedelta(seconds=1))
    content_services.update_content(made.c, {"title": "Changed"})
    epochs.forget_changes()
    [left] = EpochChange.objects.all()
    epoch = Account.objects.get(pk=made.account.pk).epoch
    assert (left.names, left.epoch) == ([ids.id_to_hex("cnt", made.c.pk)], epoch)


def test_an_epoch_that_comes_a_second_time_ends_everything(made, looked_up):
    epoch = Account.objects.get(pk=made.account.pk).epoch
    content_services.update_content(made.b, {"title": "Changed"})
    Account.objects.filter(pk=made.account.pk).update(epoch=epoch)
    content_services.update_content(made.c, {"title": "Changed"})
    assert looked_up() == ALL
