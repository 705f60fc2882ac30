import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from operators.base.links import change_url
from tests.admin.forms import form_values, submit
from tests.lock_waits import at_once


@pytest.fixture
def superusers(staff):
    return [staff(is_superuser=True) for _ in range(2)]


def test_superusers_change_others_and_their_own_address_but_keep_their_rights(superusers, sign_in):
    for field in ("is_active", "is_superuser"):
        own = superusers[0]
        reply = submit(sign_in(own), change_url(own), **{field: []})
        assert reply.status_code == 200
        assert "Ask another superuser" in str(reply.context["adminform"].form.errors[field])
        assert getattr(User.objects.get(pk=own.pk), field) is True
    reply = submit(sign_in(superusers[0]), change_url(superusers[0]), email="grace@example.org")
    assert reply.status_code == 302
    assert User.objects.get(pk=superusers[0].pk).email == "grace@example.org"
    address = reverse("admin:auth_user_delete", args=[superusers[1].pk])
    assert sign_in(superusers[0]).post(address, {"post": "yes"}).status_code == 403
    for field in ("is_active", "is_superuser"):
        assert submit(sign_in(superusers[0]), change_url(superusers[1]), **{field: []}).status_code == 302
        assert getattr(User.objects.get(pk=superusers[1].pk), field) is False


@pytest.mark.django_db(transaction=True)
def test_two_superusers_who_set_each_other_inactive_leave_one(superusers, sign_in):
    clients = [sign_in(user) for user in superusers]
    addresses = [change_url(user) for user in reversed(superusers)]
    forms = [form_values(clients[one].get(addresses[one]).content.decode()) for one in range(2)]
    for form in forms:
        form.pop("is_active")

    at_once(*(lambda one=one: clients[one].post(addresses[one], forms[one]) for one in range(2)))
    assert User.objects.filter(is_superuser=True, is_active=True).count() == 1
