import re
from contextlib import suppress

import pytest
from django.test import Client
from django.urls import NoReverseMatch, reverse

from operators.login import totp
from tests import factories
from tests.admin.every_page import patterns
from tests.admin.forms import form_values, submit
from tests.admin.signing_in import code_of

A_KEY = re.compile(r"svc_[sp]k_[0-9A-Za-z]{34}")
A_CODE = re.compile(r"<li>[a-z2-7]{4}(?:-[a-z2-7]{4}){3}</li>")
SECOND_FACTOR = reverse("admin:second_factor")
RETRIED = {"Idempotency-Key": "one-and-the-same"}


def created_key(api, admin, account):
    return api.post("/v1/api-keys", {"name": "x", "type": "secret"})


def created_key_again(api, admin, account):
    first, again = (api.post("/v1/api-keys", {"name": "x", "type": "secret"}, headers=RETRIED) for _ in range(2))
    assert again["key"] == first["key"]
    return again


def rotated_key(api, admin, account):
    return api.post(f"/v1/api-keys/{factories.api_key(account)[0].pk}/rotate", {})


def rotated_key_again(api, admin, account):
    path = f"/v1/api-keys/{factories.api_key(account)[0].pk}/rotate"
    first, again = (api.post(path, {}, headers=RETRIED) for _ in range(2))
    assert again["key"] == first["key"]
    return again


def page_of_new_key(api, admin, account):
    fields = {"account": account.pk, "name": "Web", "permissions": ["content:read"]}
    return submit(admin, reverse("admin:accounts_apikey_add"), **fields)


def page_of_rotated_key(api, admin, account):
    key, _ = factories.api_key(account)
    return submit(admin, reverse("admin:accounts_apikey_rotate", args=[key.pk]))


def qr_code(api, admin, account):
    return admin.get(SECOND_FACTOR)


def qr_code_again(api, admin, account):
    return submit(admin, SECOND_FACTOR, code="000000")


def recovery_codes(api, admin, account):
    page = admin.get(SECOND_FACTOR)
    code = code_of(totp.from_text(page.context["secret"]))
    return admin.post(SECOND_FACTOR, {**form_values(page.content.decode()), "code": code})


def new_recovery_codes(api, admin, account):
    codes = recovery_codes(api, admin, account).context["codes"]
    return submit(admin, SECOND_FACTOR, code=codes[0], renew="")


SHOWN = {
    created_key: A_KEY,
    created_key_again: A_KEY,
    rotated_key: A_KEY,
    rotated_key_again: A_KEY,
    page_of_new_key: A_KEY,
    page_of_rotated_key: A_KEY,
    qr_code: re.compile(r'id="secret"[^>]*>[A-Z2-7]{32}<'),
    qr_code_again: re.compile(r"<svg"),
    recovery_codes: A_CODE,
    new_recovery_codes: A_CODE,
}


@pytest.mark.parametrize("show", SHOWN, ids=lambda show: show.__name__)
def test_pages_with_secrets_are_not_cached(api, admin, account, show):
    reply = show(api, admin, account)
    assert SHOWN[show].search(reply.content.decode())
    assert "no-store" in reply.headers["Cache-Control"]


def addresses_of_the_admin():
    """Return the addresses of all pages that take no id."""
    for pattern in patterns():
        with suppress(NoReverseMatch):
            yield reverse(f"admin:{pattern.name}")


def test_no_cache_keeps_any_page_of_the_admin(admin):
    addresses = [*addresses_of_the_admin(), "/admin/there-is-no-such-page/"]
    assert reverse("admin:password_change") in addresses
    for client in (admin, Client()):  # signing out, on one of the pages, takes a POST
        kept = [one for one in addresses if "no-store" not in client.get(one).headers.get("Cache-Control", "")]
        assert kept == []
