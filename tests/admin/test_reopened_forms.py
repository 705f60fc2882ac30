"""A form that is to be shown again, as after a login, keeps what was entered and saves nothing."""

import pytest
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


def test_a_new_item_is_shown_again(admin, account):
    address = reverse("admin:licensing_content_add")
    shown = reopened(admin, address, account=account.pk, title="Half done", tags="a\nb")
    assert (shown["title"], shown["tags"][0].split()) == (["Half done"], ["a", "b"])
    assert not Content.objects.exists()


@pytest.mark.parametrize("fields", [{"title": "Newer"}, {"title": ""}])
def test_a_stored_item_is_shown_again_without_complaints(admin, account, fields):
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
