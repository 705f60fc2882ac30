import re
import time

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, Authenticator, RecoveryCode
from operators.login import second_factor, totp
from tests.admin.forms import form_values, submit
from tests.admin.signing_in import INDEX, PASSWORD, try_to_sign_in
from tests.stored import everything_stored

PAGE, PASSWORD_CHANGE = reverse("admin:second_factor"), reverse("admin:password_change")
NEW_PASSWORD = "seven-gulls-19"


@pytest.fixture
def anna(db):
    return User.objects.create_user("anna", password=PASSWORD, is_staff=True, is_superuser=True)


@pytest.fixture
def secret(anna):
    """The secret of Anna's app, set up earlier, so the current code is unused."""
    secret = totp.new_secret()
    second_factor.set_up(anna, secret, code_of(secret))
    Authenticator.objects.update(last_step=0)
    return secret


def code_of(secret, steps=0):
    return totp.code_at(secret, int(time.time()) // totp.STEP + steps)


# The key and the last six digits of the codes of RFC 6238, appendix B.
def test_codes_are_those_of_the_standard():
    for now, code in (
        (59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (2000000000, "279037"),
        (20000000000, "353130"),
    ):  # fmt: skip
        assert totp.code_at(b"12345678901234567890", now // totp.STEP) == code


def test_setting_it_up_shows_a_qr_code_and_ends_with_recovery_codes(anna, sign_in):
    client = sign_in(anna)
    html = client.get(PAGE).content.decode()
    assert "<svg" in html
    secret = totp.from_text(re.search(r'id="secret"[^>]*>([A-Z2-7]+)<', html)[1])
    done = client.post(PAGE, {**form_values(html), "code": code_of(secret)}).content.decode()
    assert len(re.findall(r"<li>[a-z2-7]{4}(?:-[a-z2-7]{4}){3}</li>", done)) == second_factor.RECOVERY_CODES
    assert try_to_sign_in(code=code_of(secret, 1)).status_code == 302


def test_a_wrong_code_or_a_foreign_secret_sets_nothing_up(anna, sign_in, staff):
    client = sign_in(anna)
    shown = client.get(PAGE).content.decode()
    again = client.post(PAGE, {**form_values(shown), "code": "000000"}).content.decode()
    secrets = [re.search(r'id="secret"[^>]*>([A-Z2-7]+)<', html)[1] for html in (shown, again)]
    assert secrets[0] == secrets[1]
    assert not Authenticator.objects.exists()
    other = form_values(sign_in(staff()).get(PAGE).content.decode())
    assert "This page has expired" in sign_in(anna).post(PAGE, {**other, "code": "123456"}).content.decode()


def change_own_password(client, **fields):
    passwords = {"old_password": PASSWORD, "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
    return client.post(PASSWORD_CHANGE, {**passwords, **fields})


@pytest.fixture
def open_session(anna, secret, sign_in):
    return sign_in(anna)


def test_an_open_session_changes_its_password_with_a_code_only(open_session, anna):
    assert "Code" in open_session.get(PASSWORD_CHANGE).content.decode()
    for fields in ({}, {"code": ""}, {"code": "000000"}):
        assert change_own_password(open_session, **fields).status_code == 200, fields
        anna.refresh_from_db()
        assert anna.check_password(PASSWORD), fields


def test_a_change_of_the_password_uses_the_code_up(open_session, anna, secret):
    code = code_of(secret)
    refused = [
        {"old_password": "wrong"},
        {"new_password2": "another-one-77"},
        {"new_password1": "1", "new_password2": "1"},
    ]
    for fields in refused:  # these use up no code
        assert change_own_password(open_session, code=code, **fields).status_code == 200
    assert change_own_password(open_session, code=code).status_code == 302
    anna.refresh_from_db()
    assert anna.check_password(NEW_PASSWORD)
    assert try_to_sign_in(password=NEW_PASSWORD, code=code).status_code == 200
    assert try_to_sign_in(password=NEW_PASSWORD, code=code_of(secret, 1)).status_code == 302


def test_a_recovery_code_changes_the_password_once(open_session, anna):
    code = second_factor.new_recovery_codes(anna)[0]
    assert change_own_password(open_session, code=code).status_code == 302
    swapped = {"old_password": NEW_PASSWORD, "new_password1": PASSWORD, "new_password2": PASSWORD}
    assert change_own_password(open_session, code=code, **swapped).status_code == 200


def test_without_a_second_factor_the_old_password_is_enough(anna, sign_in):
    client = sign_in(anna)
    assert 'name="code"' not in client.get(PASSWORD_CHANGE).content.decode()
    assert change_own_password(client).status_code == 302


def test_a_superuser_reaches_no_page_that_asks_for_no_code_for_herself(open_session, anna):
    fields = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    for method in ("get", "post"):
        for page, own_page in (("password_change", "password_change"), ("reset_second_factor", "second_factor")):
            reply = getattr(open_session, method)(reverse(f"admin:auth_user_{page}", args=[anna.pk]), fields)
            assert (reply.status_code, reply.url) == (302, reverse(f"admin:{own_page}")), page
            anna.refresh_from_db()
            assert anna.check_password(PASSWORD), page
            assert second_factor.is_set_up(anna), page


def test_a_login_needs_a_code_that_works_once(secret):
    replies = [try_to_sign_in(), try_to_sign_in(password="wrong"), try_to_sign_in(password="wrong", code="1")]
    assert len({str(reply.context["form"].non_field_errors()) for reply in replies}) == 1
    for code, statuses in (("", [200]), ("000000", [200]), (code_of(secret), [302, 200])):
        assert [try_to_sign_in(code=code).status_code for _ in statuses] == statuses


@pytest.mark.parametrize(("steps", "status"), [(-2, 200), (-1, 302), (1, 302), (3, 200)])
def test_a_clock_may_be_off_by_half_a_minute(secret, steps, status):
    assert try_to_sign_in(code=code_of(secret, steps)).status_code == status


def test_a_recovery_code_signs_in_once_until_new_ones_replace_it(anna, secret, sign_in):
    code = second_factor.new_recovery_codes(anna)[0]
    assert [try_to_sign_in(code=code.upper()).status_code for _ in range(2)] == [302, 200]
    old = second_factor.new_recovery_codes(anna)[0]
    html = submit(sign_in(anna), PAGE, code=code_of(secret), renew="").content.decode()
    new = re.findall(r"<li>([a-z2-7-]{19})</li>", html)[0]
    assert try_to_sign_in(code=old).status_code == 200
    assert try_to_sign_in(code=new).status_code == 302


def test_guessing_codes_is_limited_like_guessing_passwords(secret):
    assert [try_to_sign_in(code=f"{number:06}").status_code for number in range(11)][-1] == 429


def test_turning_it_off_takes_a_code(anna, secret, sign_in):
    client = sign_in(anna)
    submit(client, PAGE, code="000000", turn_off="")
    assert Authenticator.objects.exists()
    submit(client, PAGE, code=code_of(secret), turn_off="")
    assert try_to_sign_in().status_code == 302


def test_secrets_are_unreadable_in_the_database_and_turning_off_is_logged(anna, secret):
    code = second_factor.new_recovery_codes(anna)[0].replace("-", "")
    stored = everything_stored()
    for text in (secret, totp.as_text(secret).encode(), code.encode()):
        assert text not in stored
    second_factor.turn_off(anna)
    entries = AuditEntry.objects.filter(action="operator.second_factor_changed").order_by("pk")
    assert [entry.changes["secondFactor"][1] for entry in entries] == ["on", "off"]


class TestWhereEverybodyNeedsOne:
    @pytest.fixture(autouse=True)
    def _required(self, settings):
        settings.ADMIN_REQUIRE_TOTP = True

    def test_operators_without_a_second_factor_must_set_it_up_first(self, anna, sign_in):
        client = sign_in(anna)
        reply = client.get(INDEX)
        assert (reply.status_code, reply.headers["Location"]) == (302, PAGE)
        assert client.post(reverse("admin:accounts_account_add"), {"name": "x", "plan": "starter"}).status_code == 302
        html = client.get(PAGE).content.decode()
        secret = totp.from_text(re.search(r'id="secret"[^>]*>([A-Z2-7]+)<', html)[1])
        client.post(PAGE, {**form_values(html), "code": code_of(secret)})
        assert client.get(INDEX).status_code == 200

    def test_signing_in_with_a_code_keeps_the_session(self, secret):
        client = Client()
        try_to_sign_in(client=client, code=code_of(secret))
        assert client.get(INDEX).status_code == 200

    def test_nobody_can_turn_it_off(self, anna, secret, sign_in):
        submit(sign_in(anna), PAGE, code=code_of(secret), turn_off="")
        assert Authenticator.objects.exists()


def test_the_command_resets_the_second_factor(secret):
    call_command("reset_second_factor", "anna")
    assert try_to_sign_in().status_code == 302
    assert not RecoveryCode.objects.exists()


def test_a_superuser_resets_the_second_factor_of_an_operator(anna, secret, admin):
    address = reverse("admin:auth_user_reset_second_factor", args=[anna.pk])
    assert "stop working" in admin.get(address).content.decode()
    assert submit(admin, address).status_code == 302
    assert try_to_sign_in().status_code == 302
