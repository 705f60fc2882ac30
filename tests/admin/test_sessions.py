"""Sessions end with what they were signed in by."""

import time

import pytest
from django.core.management import call_command
from django.urls import reverse

from accounts.operators import second_factor, totp
from tests.admin.forms import submit

INDEX = reverse("admin:index")


@pytest.fixture
def anna(staff):
    return staff(is_superuser=True, password="kite-lamp-57-orbit")


@pytest.fixture
def annas(anna, sign_in):
    """The browser in which Anna is signed in."""
    secret = totp.new_secret()
    second_factor.set_up(anna, secret, totp.code_at(secret, int(time.time()) // totp.STEP))
    client = sign_in(anna)
    assert client.get(INDEX).status_code == 200
    return client


def page(name, user):
    return reverse(f"admin:auth_user_{name}", args=[user.pk])


def test_resetting_the_second_factor_ends_them(admin, anna, annas):
    assert submit(admin, page("reset_second_factor", anna)).status_code == 302
    assert annas.get(INDEX).status_code == 302
    assert admin.get(INDEX).status_code == 200


def test_so_does_the_command(anna, annas):
    call_command("reset_second_factor", anna.username)
    assert annas.get(INDEX).status_code == 302


def test_so_does_a_new_password(admin, anna, annas):
    passwords = {"password1": "seven-gulls-19", "password2": "seven-gulls-19"}
    assert submit(admin, page("password_change", anna), **passwords).status_code == 302
    assert annas.get(INDEX).status_code == 302


def test_who_is_set_inactive_and_active_again_has_to_sign_in(admin, anna, annas):
    address = page("change", anna)
    fields = submit(admin, address, is_active="")
    assert fields.status_code == 302
    anna.refresh_from_db()
    assert not anna.is_active
    assert annas.get(INDEX).status_code == 302
    assert submit(admin, address, is_active="on").status_code == 302
    assert annas.get(INDEX).status_code == 302


def test_turning_it_off_oneself_keeps_ones_own(anna, annas):
    second_factor.turn_off(anna)
    assert annas.get(INDEX).status_code == 200
