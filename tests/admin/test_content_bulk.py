import re

import pytest
from django.urls import reverse

from accounts.models import AuditEntry
from licensing.content.models import Content
from licensing.policies import services as policy_services
from operators.base.links import list_url
from operators.catalogue import bulk_change
from operators.catalogue.uploads import Upload
from operators.staff.services import create_operator
from tests import factories
from tests.admin.forms import form_values


@pytest.fixture
def items(account):
    return [factories.content(account, category="news") for _ in range(3)]


def ask(client, action, items=(), across=False, **filters):
    """Choose an action for selected items, or for all that match."""
    chosen = {"_selected_action": [item.pk for item in items], "select_across": "1" if across else "0"}
    return client.post(list_url(Content, **filters), {"action": action, "index": "0", **chosen})


def confirm(client, asked, address=None, **fields):
    values = form_values(asked.content.decode())
    return client.post(asked.context["back"], {**values, **fields}, follow=True)


def statuses():
    return sorted(Content.objects.values_list("status", flat=True))


def test_items_are_archived_after_a_page_that_says_how_many(admin, account, items):
    asked = ask(admin, "archive", items[:2])
    assert "Archive 2 items?" in asked.content.decode()
    assert account.name in asked.content.decode()
    assert statuses() == ["active"] * 3
    assert "2 items changed." in confirm(admin, asked).content.decode()
    assert statuses() == ["active", "archived", "archived"]


def test_each_item_leaves_an_audit_entry_and_the_next_check_knows(admin, account, items, api):
    policy = factories.policy(account, factories.ALLOW_ALL)
    check = {"contentId": items[0].pk, "requester": "org_acme"}
    assert api.post("/v1/access/check", check)["reason"] == "no_policy"
    confirm(admin, ask(admin, "assign_policy", items), policy=policy.pk)
    assert api.post("/v1/access/check", check)["allowed"] is True
    entries = AuditEntry.objects.filter(action="content.updated")
    assert {entry.resource_id for entry in entries} == {item.pk for item in items}
    assert all(entry.changes == {"policyId": [None, policy.pk]} for entry in entries)
    assert {entry.actor_type for entry in entries} == {"operator"}


def test_all_that_match_the_filter_are_changed_and_nothing_else(admin, account, items):
    other = factories.content(account, category="sport")
    confirm(admin, ask(admin, "archive", items[:1], across=True, category="news"))
    assert statuses() == ["active", "archived", "archived", "archived"]
    other.refresh_from_db()
    assert other.status == "active"


def test_new_matches_are_confirmed_again(admin, account, items):
    asked = ask(admin, "archive", items[:1], across=True, category="news")
    factories.content(account, category="news")
    again = confirm(admin, asked)
    assert "Archive 4 items?" in again.content.decode()
    assert statuses() == ["active"] * 4
    confirm(admin, again)
    assert statuses() == ["archived"] * 4


@pytest.fixture
def small_steps(monkeypatch):
    monkeypatch.setattr(bulk_change, "CHUNK", 2)
    monkeypatch.setattr(bulk_change, "STEP_SECONDS", -1)


def test_any_number_of_items_is_changed_in_steps_even_after_an_interruption(admin, items, small_steps):
    shown = confirm(admin, ask(admin, "archive", items[:1], across=True))
    for page in (shown, admin.get(shown.request["PATH_INFO"])):
        assert "2 of 3 items" in page.content.decode()
    assert statuses() == ["active", "archived", "archived"]
    assert "3 items changed." in admin.post(shown.request["PATH_INFO"], follow=True).content.decode()
    assert statuses() == ["archived"] * 3
    assert AuditEntry.objects.filter(action="content.updated").count() == 3


def undo_of(reply):
    return re.search(r'href="(/admin/licensing/content/bulk/[^"]+)">Undo', reply.content.decode())[1]


def test_undoing_a_change_restores_the_values_of_each_item(admin, account, items):
    policies = [factories.policy(account).pk for _ in range(2)]
    confirm(admin, ask(admin, "assign_policy", items[:1]), policy=policies[0])
    done = confirm(admin, ask(admin, "assign_policy", items), policy=policies[1])
    undone = admin.post(undo_of(done), {"undo": "1"}, follow=True)
    assert "3 items changed back." in undone.content.decode()
    assert [Content.objects.get(pk=item.pk).policy_id for item in items] == [policies[0], None, None]
    assert "Undo it" not in undone.content.decode()


def test_many_items_are_changed_back_in_steps(admin, items, small_steps):
    address = confirm(admin, ask(admin, "archive", items)).request["PATH_INFO"]
    admin.post(address)
    assert "2 of 3 items" in admin.post(address, {"undo": "1"}, follow=True).content.decode()
    assert "3 items changed back." in admin.post(address, follow=True).content.decode()
    assert statuses() == ["active"] * 3


def test_items_changed_since_stay_as_they_are(admin, account, items):
    policies = [factories.policy(account).pk for _ in range(2)]
    done = confirm(admin, ask(admin, "assign_policy", items), policy=policies[0])
    confirm(admin, ask(admin, "assign_policy", items[:1]), policy=policies[1])
    undone = admin.post(undo_of(done), {"undo": "1"}, follow=True)
    shown = undone.content.decode()
    assert "2 items changed back. 1 item had been changed since, or lost the former policy, and stayed." in shown
    assert Content.objects.get(pk=items[0].pk).policy_id == policies[1]


def test_items_whose_former_policy_is_gone_stay_and_the_others_are_changed_back(admin, account, items):
    gone, kept, new = (factories.policy(account) for _ in range(3))
    for item, policy in zip(items, (gone, kept, kept), strict=True):
        Content.objects.filter(pk=item.pk).update(policy=policy)
    done = confirm(admin, ask(admin, "assign_policy", items), policy=new.pk)
    policy_services.delete_policy(gone)
    undone = admin.post(undo_of(done), {"undo": "1"}, follow=True)
    assert "2 items changed back. 1 item" in undone.content.decode()
    assert [Content.objects.get(pk=item.pk).policy_id for item in items] == [new.pk, kept.pk, kept.pk]


def test_a_change_whose_end_was_not_noted_can_be_undone(admin, items, monkeypatch):
    save, saved = Upload.save, []

    def fail_once(upload):
        if upload.metadata["forth"]["done"] and not saved:
            saved.append(upload)
            raise OSError("the process ends")
        save(upload)

    monkeypatch.setattr(Upload, "save", fail_once)
    with pytest.raises(OSError, match="the process ends"):
        confirm(admin, ask(admin, "archive", items))
    address = reverse("admin:licensing_content_bulk", args=[saved[0].token])
    assert statuses() == ["archived"] * 3
    assert "Undo" in admin.post(address, follow=True).content.decode()
    admin.post(address, {"undo": "1"})
    assert statuses() == ["active"] * 3


def test_a_policy_deleted_between_two_steps_stops_the_change(admin, account, items, small_steps):
    policy = factories.policy(account)
    shown = confirm(admin, ask(admin, "assign_policy", items), policy=policy.pk)
    Content.objects.update(policy=None)
    policy_services.delete_policy(policy)
    stopped = admin.post(shown.request["PATH_INFO"], follow=True)
    assert "Stopped: There is no policy" in stopped.content.decode()
    assert not Content.objects.exclude(policy=None).exists()


def test_only_its_operator_continues_and_undoes_a_change_also_after_another_login(
    admin, account, items, small_steps, sign_in
):
    shown = confirm(admin, ask(admin, "archive", items))
    other = sign_in(create_operator("ed", role="Editor", accounts=[account])[0])
    assert other.post(shown.request["PATH_INFO"]).status_code == 404
    assert statuses() == ["active", "archived", "archived"]
    again = sign_in(admin.get("/admin/").wsgi_request.user)
    address = shown.request["PATH_INFO"]
    again.post(address)
    assert statuses() == ["archived"] * 3
    again.post(address, {"undo": "1"})
    again.post(address)
    assert statuses() == ["active"] * 3


def test_a_page_that_asks_is_shown_again_after_a_login_with_what_was_chosen(admin, account, items):
    policy = factories.policy(account)
    asked = ask(admin, "assign_policy", items)
    values = form_values(asked.content.decode())
    again = admin.post(asked.request["PATH_INFO"], {**values, "policy": policy.pk, "_edit": "back"})
    assert form_values(again.content.decode())["policy"] == [policy.pk]
    assert "Choose one" in again.content.decode()
    assert not Content.objects.filter(policy=policy).exists()


def test_filters_split_a_large_catalogue(admin, account):
    factories.content(account, title="Tagged", tags=["ai", "news"])
    factories.content(account, title="Linked", policy_id=factories.policy(account).pk)
    for filters, found in (
        ({"tag": "ai"}, ["Tagged"]),
        ({"tag": "a"}, []),
        ({"linked": "no"}, ["Tagged"]),
        ({"linked": "yes"}, ["Linked"]),
        ({"created_from_0": "2999-01-01"}, []),
        ({"created_to_0": "2999-01-01"}, ["Linked", "Tagged"]),
    ):
        shown = admin.get(list_url(Content, **filters)).context["cl"].result_list
        assert sorted(item.title for item in shown) == found, filters


def test_a_policy_is_taken_away_and_belongs_to_one_account(admin, account, other_account, items):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    confirm(admin, ask(admin, "assign_policy", [item]), policy="none")
    item.refresh_from_db()
    assert item.policy is None

    policy, foreign = factories.policy(account), factories.content(other_account)
    asked = ask(admin, "assign_policy", [*items, foreign])
    assert other_account.name in asked.content.decode()
    assert "Select a valid choice" in confirm(admin, asked, policy=policy.pk).content.decode()
    assert not Content.objects.exclude(policy=None).exists()


def test_items_that_have_it_already_are_left_alone(admin, items):
    confirm(admin, ask(admin, "archive", items[:1]))
    assert "2 items changed. 1 item had it already." in confirm(admin, ask(admin, "archive", items)).content.decode()
    assert AuditEntry.objects.filter(action="content.updated").count() == 3


def test_changed_items_are_returned_as_they_were(account, items):
    changed = bulk_change.change_items(account.pk, [item.pk for item in items], {"status": "archived"})
    assert [(item.pk, item.status) for item in changed] == [(item.pk, "active") for item in items]
    assert statuses() == ["archived"] * 3


def test_bulk_changes_need_permission(account, items, sign_in):
    user, _ = create_operator("eve", role="Viewer", accounts=[account])
    client = sign_in(user)
    assert 'value="archive"' not in client.get(list_url(Content)).content.decode()
    ask(client, "archive", items)
    assert statuses() == ["active"] * 3
