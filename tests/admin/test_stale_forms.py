import pytest
from django.contrib.auth.models import Group, User
from django.urls import reverse

from accounts.models import AuditEntry
from accounts.plans import services as accounts
from licensing.content import services as content_services
from licensing.licenses import services as license_services
from licensing.policies import services as policy_services
from licensing.requesters.models import Requester
from operators.base.links import change_url
from operators.base.scope import set_scope
from operators.login.audit_entries import AuditedOperator, AuditedRole
from tests import factories
from tests.admin.forms import as_sent, form_values, submit
from tests.admin.racing import meeting
from tests.lock_waits import at_once

STALE = "while you had it open"


def open_form(client, obj):
    return as_sent(form_values(client.get(change_url(obj)).content.decode()))


def save(client, obj, opened, **fields):
    return client.post(change_url(obj), {**opened, **fields, "_save": "Save"})


def state(obj):
    stored = type(obj).objects.get(pk=obj.pk)
    return {User: AuditedOperator, Group: AuditedRole}.get(type(obj), lambda same: same)(stored).audited()


def operator(account):
    user = User.objects.create_user("eve", is_staff=True)
    set_scope(user, accounts=[account])
    return user


def role(account):
    made = Group.objects.create(name="Temporary")
    made.permissions.set(Group.objects.get(name="Viewer").permissions.all())
    return made


def deactivate(user):
    User.objects.filter(pk=user.pk).update(is_active=False)


# The object, somebody else's change, and what the operator then changes on the open page.
EDITED = {
    "an archived item": (
        factories.content,
        lambda item: content_services.update_content(item, {"status": "archived"}),
        {"category": "law"},
    ),
    "metadata of an item": (
        lambda account: factories.content(account, metadata={"edition": 1}),
        lambda item: content_services.update_content(item, {"metadata": {"pages": 7}}),
        {"metadata_extra": '{"edition": 2}'},
    ),
    "a licence": (
        factories.license,
        lambda held: license_services.update_license(held, {"tags": ["sport"]}),
        {"license_type": "editorial"},
    ),
    "a policy": (
        factories.policy,
        lambda policy: policy_services.update_policy(policy, {"rules": [factories.DENY_ALL]}),
        {"name": "Mine"},
    ),
    "an account": (
        lambda account: account,
        lambda account: accounts.update_account(account, {"name": "Theirs"}),
        {"name": "Mine"},
    ),
    "an operator": (operator, deactivate, {"email": "eve@example.com"}),
    "an operator's accounts": (operator, set_scope, {"email": "eve@example.com"}),
    "a role": (role, lambda group: group.permissions.clear(), {"name": "Mine"}),
}


@pytest.fixture(params=EDITED, ids=str)
def edited(request, account):
    make, meanwhile, mine = EDITED[request.param]
    obj = make(account)
    return obj, lambda: meanwhile(obj), mine


def test_a_stale_form_does_not_undo_the_changes_of_others_and_keeps_the_entered_values_unsaved(admin, edited):
    obj, meanwhile, mine = edited
    opened = open_form(admin, obj)
    meanwhile()
    theirs, entries = state(obj), AuditEntry.objects.count()
    reply = save(admin, obj, opened, **mine)
    assert STALE in reply.content.decode()
    shown = form_values(reply.content.decode())
    assert {name: shown[name] for name in mine} == {name: [value] for name, value in mine.items()}
    assert STALE in save(admin, obj, as_sent(shown)).content.decode()
    assert (state(obj), AuditEntry.objects.count()) == (theirs, entries)


def test_a_customer_that_was_changed_meanwhile_is_not_changed_back(admin, account, api):
    api.post("/v1/requesters", {"id": "org_acme", "email": "old@acme.example"})
    address = reverse("admin:licensing_requester_edit", args=[Requester.objects.get().pk])
    opened = form_values(admin.get(address).content.decode())
    api.patch("/v1/requesters/org_acme", {"email": "new@acme.example"})
    reply = admin.post(address, {**opened, "name": "Acme"})
    assert STALE in reply.content.decode()
    assert admin.post(address, form_values(reply.content.decode())).status_code == 200  # as often as it is sent
    known = api.get("/v1/requesters/org_acme")
    assert (known["name"], known["email"]) == (None, "new@acme.example")
    assert submit(admin, address, name="Acme").status_code == 302
    known = api.get("/v1/requesters/org_acme")
    assert (known["name"], known["email"]) == ("Acme", "new@acme.example")


def test_a_reopened_form_saves_beside_the_other_changes(admin, edited):
    obj, meanwhile, mine = edited
    meanwhile()
    theirs = state(obj)
    assert submit(admin, change_url(obj), _save="Save", **mine).status_code == 302
    now = state(obj)
    assert now != theirs
    assert {name for name in theirs if now.get(name) != theirs[name]} <= {
        "metadata.category", "metadata.edition", "metadata.pages", "licenseType", "name", "version", "email",
    }  # fmt: skip


def test_a_refusal_leads_to_the_current_page_and_forms_need_a_version(admin, account):
    item = factories.content(account)
    opened = open_form(admin, item)
    content_services.update_content(item, {"title": "Theirs"})
    html = save(admin, item, opened, category="law").content.decode()
    assert f'<a class="underline" href="{change_url(item)}" target="_blank">Open the current version</a>' in html

    item = factories.content(account, title="Kept")
    opened = open_form(admin, item)
    del opened["as_opened"]
    assert STALE in save(admin, item, opened, title="Mine").content.decode()
    assert state(item)["title"] == "Kept"


@pytest.mark.parametrize("kind", ["an account on another plan", "an item sent again as it was", "a requester renamed"])
def test_changes_outside_of_the_form_do_not_make_it_stale(admin, account, kind):
    if kind == "an account on another plan":
        obj, mine = factories.account("Former", plan="starter"), {"name": "Mine"}
        opened = open_form(admin, obj)
        accounts.update_account(obj, {"plan": "professional"})
    elif kind == "an item sent again as it was":
        obj, mine = factories.content(account, title="Same"), {"category": "law"}
        opened = open_form(admin, obj)
        content_services.update_content(obj, {"title": "Same"})
    else:
        obj, mine = factories.license(account), {"license_type": "editorial"}
        opened = open_form(admin, obj)
        factories.license(account, requester_name="Acme Labs")
    assert save(admin, obj, opened, **mine).status_code == 302


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["content", "license", "policy"])
def test_the_second_of_two_simultaneous_saves_is_refused(staff, sign_in, account, monkeypatch, kind):
    module, name, fields = {
        "content": (content_services, "update_content", ({"title": "One"}, {"category": "law"})),
        "license": (license_services, "update_license", ({"license_type": "one"}, {"tags": "sport"})),
        "policy": (policy_services, "update_policy", ({"name": "One"}, {"description": "Other"})),
    }[kind]
    obj = getattr(factories, kind)(account)
    clients = [sign_in(staff(is_superuser=True)) for _ in fields]
    opened = open_form(clients[0], obj)
    monkeypatch.setattr(module, name, meeting(getattr(module, name)))
    replies = at_once(*(lambda c=c, f=f: save(c, obj, opened, **f) for c, f in zip(clients, fields, strict=True)))
    assert sorted(reply.status_code for reply in replies) == [200, 302]
    assert AuditEntry.objects.filter(resource_id=obj.pk, action=f"{kind}.updated").count() == 1
