import re

import pytest
from django.contrib import admin as django_admin
from django.test import Client
from django.urls import reverse

from licensing.content.models import Content
from operators.base.links import change_url, list_url
from operators.base.lists import BoundedPaginator
from tests import factories

MODELS = sorted(django_admin.site._registry, key=lambda model: model._meta.label)
LISTS = [f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist" for model in MODELS]
ADDS = [f"admin:{model._meta.app_label}_{model._meta.model_name}_add" for model in MODELS]


@pytest.fixture(scope="module")
def filled(for_the_module):
    """Two pages of every resource that is quick to create."""
    with for_the_module():
        account = factories.account()
        for number in range(60):
            factories.api_key(account, name=f"Key {number}")


@pytest.mark.parametrize("name", ["admin:index", "admin:visitors", *LISTS])
def test_a_page_needs_fewer_than_25_queries_and_deletes_nothing_in_bulk(
    admin, filled, django_assert_max_num_queries, name
):
    with django_assert_max_num_queries(24):
        reply = admin.get(reverse(name))
    assert reply.status_code == 200
    assert "delete_selected" not in reply.content.decode()


@pytest.mark.parametrize("name", ["admin:index", "admin:visitors", "admin:login", *LISTS, *ADDS])
def test_no_page_has_a_script_of_its_own_or_anything_from_elsewhere(admin, filled, name):
    reply = (Client() if name == "admin:login" else admin).get(reverse(name))
    html = reply.content.decode()
    assert "script-src 'self';" in reply.headers["Content-Security-Policy"]
    assert not re.findall(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)", html)
    assert not re.findall(r"<[^>]+\son[a-z]+=", html)
    assert not re.findall(r'(?:src|href|action)="(?:https?:)?//', html)


def test_a_list_is_counted_as_far_as_people_leaf_and_then_shows_no_count(
    admin, filled, monkeypatch, django_assert_num_queries
):
    address = reverse("admin:accounts_apikey_changelist")
    assert re.search(r"\d+ results", admin.get(address, {"q": "key"}).content.decode())
    monkeypatch.setattr(BoundedPaginator, "MAX_COUNT", 55)
    page = admin.get(address, {"q": "key"}).content.decode()
    assert "more than 55 API keys" in page
    assert not re.search(r"\d+ results", page)

    assert "more than 55 API keys" in admin.get(reverse("admin:accounts_apikey_changelist")).content.decode()
    assert admin.get(f"{reverse('admin:accounts_apikey_changelist')}?digest__startswith=a").status_code == 400


def test_addresses_have_ids_as_they_are(admin, account):
    item = factories.content(account)
    html = admin.get(list_url(Content)).content.decode()
    assert f"/content/{item.pk}/change/" in html
    assert "_5F" not in html + admin.get(change_url(item)).content.decode()
    for number in ("22222222222222222222222222", "01m7x3q0e8f9g2h4j6k8m0n2p4"):
        Content.objects.filter(pk=factories.content(account).pk).update(id=f"cnt_{number}")
        for written in (f"cnt_{number}", f"cnt_5F{number}"):  # as it was written in addresses before
            assert admin.get(f"/admin/licensing/content/{written}/change/").status_code == 200


def test_visitors_sign_in_at_the_login_and_reach_the_overview(db, staff):
    reply = Client().get(reverse("admin:accounts_apikey_changelist"))
    assert reply.status_code == 302
    assert reply.headers["Location"].startswith(reverse("admin:login"))
    user = staff(password="kite-lamp-57-orbit")
    fields = {"username": user.username, "password": "kite-lamp-57-orbit"}
    reply = Client().post(reverse("admin:login"), fields)
    assert (reply.status_code, reply.headers["Location"]) == (302, reverse("admin:index"))
