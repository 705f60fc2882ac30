from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from operators.login import second_factor, totp
from operators.login.session_store import SessionStore, stored_key
from tests.admin.forms import form_values, submit
from tests.admin.signing_in import code_of
from tests.stored import everything_stored

INDEX, SECOND_FACTOR = reverse("admin:index"), reverse("admin:second_factor")


@pytest.fixture
def anna(staff):
    return staff(is_superuser=True, password="kite-lamp-57-orbit")


@pytest.fixture
def annas(anna, sign_in):
    """A browser in which Anna is signed in."""
    secret = totp.new_secret()
    second_factor.set_up(anna, secret, code_of(secret))
    client = sign_in(anna)
    assert client.get(INDEX).status_code == 200
    return client


def page(name, user):
    return reverse(f"admin:auth_user_{name}", args=[user.pk])


def test_a_new_password_or_a_reset_second_factor_ends_sessions(admin, anna, annas):
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


def test_reactivated_operators_have_to_sign_in_again(admin, anna, annas):
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


class TestSettingUpTheSecondFactor:
    @pytest.fixture
    def elsewhere(self, anna, sign_in):
        """Another browser in which Anna signed in by password only."""
        return sign_in(anna)

    @pytest.fixture
    def here(self, anna, sign_in, elsewhere):
        client = sign_in(anna)
        page = client.get(SECOND_FACTOR)
        secret = totp.from_text(page.context["secret"])
        done = client.post(SECOND_FACTOR, {**form_values(page.content.decode()), "code": code_of(secret)})
        assert done.context["codes"]
        return client

    def test_ends_for_good_those_of_the_password_alone_and_keeps_the_others(self, admin, anna, here, elsewhere):
        assert [client.get(INDEX).status_code for client in (here, admin, elsewhere)] == [200, 200, 302]
        second_factor.turn_off(anna)
        assert elsewhere.get(INDEX).status_code == 302

    def test_ends_what_a_login_under_way_at_that_moment_made(self, anna, here):
        """The login saw no second factor and created its session after the others had ended."""
        late = Client()
        late.force_login(anna)
        assert late.get(INDEX).status_code == 302


def test_the_table_of_sessions_opens_none_of_them_and_one_of_before_they_were_digests_ends(anna, annas):
    key = annas.cookies[settings.SESSION_COOKIE_NAME].value
    stored = everything_stored()
    assert key.encode() not in stored
    for session in Session.objects.all():
        thief = Client()
        thief.cookies[settings.SESSION_COOKIE_NAME] = session.pk
        assert thief.get(INDEX).status_code == 302
    assert annas.get(INDEX).status_code == 200
    session = Session.objects.get()
    Session.objects.update(session_key=key)
    assert annas.get(INDEX).status_code == 302
    assert session.get_decoded()


def test_signing_out_takes_the_session_out_of_the_table(anna, annas):
    annas.post(reverse("admin:logout"))
    assert not Session.objects.exists()


def test_sessions_end_when_they_expire_or_sign_out(anna, annas):
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert annas.get(INDEX).status_code == 302
    call_command("clearsessions")
    assert not Session.objects.exists()


def test_the_asynchronous_methods_keep_digests_too(db):
    @async_to_sync
    async def use():
        store = SessionStore()
        await store.aset("a", 1)
        await store.asave()
        assert await SessionStore(store.session_key).aget("a") == 1
        assert [session.pk async for session in Session.objects.all()] == [stored_key(store.session_key)]
        await store.adelete(store.session_key)
        assert not await store.aexists(store.session_key)

    use()
