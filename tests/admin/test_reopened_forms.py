from django.contrib.auth.models import Group, User
from django.urls import reverse

from licensing.content.models import Content
from operators.base.links import change_url
from tests import factories
from tests.admin.forms import as_sent, form_values


def reopened(client, address, **fields):
    values = form_values(client.get(address).content.decode())
    reply = client.post(address, as_sent({**values, **fields, "_edit": "back"}))
    assert reply.status_code == 200
    return form_values(reply.content.decode())


def test_items_are_shown_again_without_complaints(admin, account):
    address = reverse("admin:licensing_content_add")
    shown = reopened(admin, address, account=account.pk, title="Half done", tags="a\nb")
    assert (shown["title"], shown["tags"][0].split()) == (["Half done"], ["a", "b"])
    assert not Content.objects.exists()

    for fields in ({"title": "Newer"}, {"title": ""}):
        item = factories.content(account, title="Older")
        assert reopened(admin, change_url(item), **fields)["title"] == [fields["title"]]
        item.refresh_from_db()
        assert item.title == "Older"


def test_operators_and_roles_are_shown_again_too(admin):
    user, group = User.objects.get(), Group.objects.first()
    assert reopened(admin, change_url(user), email="new@example.org")["email"] == ["new@example.org"]
    assert reopened(admin, change_url(group), name="Newer")["name"] == ["Newer"]
    assert not User.objects.filter(email="new@example.org").exists()
    assert not Group.objects.filter(name="Newer").exists()


def test_questions_are_asked_again_with_what_was_entered(admin, account):
    address = reverse("admin:accounts_account_change_plan", args=[account.pk])
    fields = {"plan": "enterprise", "requests_per_minute": "7", "requests_per_day": ""}
    shown = reopened(admin, address, **fields)
    assert [shown[name] for name in fields] == [["enterprise"], ["7"], [""]]
    account.refresh_from_db()
    assert account.requests_per_minute == 100_000

    key, _ = factories.api_key(account)
    shown = reopened(admin, reverse("admin:accounts_apikey_rotate", args=[key.pk]), overlap_seconds="604800")
    assert shown["overlap_seconds"] == ["604800"]
    assert account.api_keys.count() == 1
    policy = factories.policy(account)
    for name, args in (("check_access", []), ("licensing_policy_simulator", [policy.pk])):
        assert reopened(admin, reverse(f"admin:{name}", args=args), requester="org_a")["requester"] == ["org_a"]
