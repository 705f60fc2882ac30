from unittest.mock import Mock

import pytest
from django.contrib import admin as django_admin
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from psycopg.errors import QueryCanceled

from operators.base.links import change_url
from tests import factories

INDEX, KEYS = reverse("admin:index"), reverse("admin:accounts_apikey_changelist")


def told(reply):
    html = reply.content.decode()
    assert reply.headers["Content-Type"].startswith("text/html")
    assert "unfold/css/styles.css" in html
    assert reply.headers["X-Request-Id"] in html
    assert "script-src 'self'" in reply.headers["Content-Security-Policy"]
    return html


def test_unknown_pages_and_invalid_addresses_have_the_layout_of_the_admin(admin):
    reply = admin.get("/admin/nowhere/")
    assert reply.status_code == 404
    assert "Not found" in told(reply)
    assert reverse("admin:logout") in told(reply)
    reply = admin.get(f"{KEYS}?digest__startswith=a")
    assert reply.status_code == 400
    assert "Invalid address" in told(reply)
    for path in ("/nowhere", "/v1/nowhere"):
        reply = admin.get(path)
        assert reply.status_code in (401, 404)
        assert reply.headers["Content-Type"].startswith("application/json")


def test_a_form_opens_at_an_address_with_ids_that_are_none(admin):
    for model in django_admin.site._registry:
        path = f"/admin/{model._meta.app_label}/{model._meta.model_name}/add/"
        for id in ("nonsense", "acc_x", "acc_00000000000000000000000000"):
            reply = admin.get(path, dict.fromkeys(("account", "requester", "content", "policy", "wallet"), id))
            assert (path, reply.status_code in (200, 302, 403, 404)) == (path, True)


def test_pages_of_others_and_expired_forms_are_refused(staff, sign_in, account, other_account):
    key, _ = factories.api_key(other_account)
    client = sign_in(staff("accounts.view_apikey", accounts=[account]))
    reply = client.get(reverse("admin:accounts_apikey_rotate", args=[key.pk]))
    assert reply.status_code == 403  # they may rotate none
    assert "You may not do this" in told(reply)
    missing = client.get(change_url(key))
    assert (missing.status_code, missing.headers["Location"]) == (302, INDEX)

    client = Client(enforce_csrf_checks=True)
    client.force_login(staff(is_superuser=True))
    reply = client.post(reverse("admin:accounts_account_add"), {"name": "x"})
    assert reply.status_code == 403
    assert "This form has expired" in told(reply)


def test_a_page_that_takes_too_long_is_given_up_with_advice(admin, monkeypatch):
    error = OperationalError("canceling statement due to statement timeout")
    error.__cause__ = QueryCanceled()
    monkeypatch.setattr("operators.base.scope.read_scope", Mock(side_effect=error))
    reply = admin.get(KEYS)
    assert (reply.status_code, reply.headers["Retry-After"]) == (503, "30")
    assert "Narrow the filters" in reply.content.decode()


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [(OperationalError("the disk is full"), 503, "cannot reach its database"), (ValueError("x"), 500, "did not work")],
)
def test_the_page_of_a_failure_needs_no_database(staff, sign_in, monkeypatch, error, status, text):
    client = sign_in(staff(is_superuser=True))
    client.raise_request_exception = False
    monkeypatch.setattr("operators.base.scope.read_scope", Mock(side_effect=error))
    reply = client.get(KEYS)
    assert reply.status_code == status
    assert text in told(reply)
    assert "disk is full" not in told(reply)


def test_where_the_admin_is_not_there_is_no_page_of_it(settings, db):
    settings.ADMIN_HOST = "admin.example.com"
    reply = Client().get("/admin/nowhere/")
    assert reply.status_code == 404
    assert reply.headers["Content-Type"].startswith("application/json")
