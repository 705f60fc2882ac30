import time

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from operators.login import known_browsers
from operators.login.limits import PER_ADDRESS, PER_BROWSER, PER_NAME, PER_OPERATOR
from tests.admin.forms import submit
from tests.admin.signing_in import INDEX, PASSWORD, try_to_sign_in

SECOND_FACTOR, PASSWORD_CHANGE = reverse("admin:second_factor"), reverse("admin:password_change")
NEW_PASSWORD = "seven-gulls-19"


@pytest.fixture(autouse=True)
def _within_a_quarter_of_an_hour(monkeypatch):
    """Freeze the limiter's clock so that no 15-minute window ends during a test."""
    now = time.time()
    monkeypatch.setattr("accounts.limits.limiter.time.time", lambda: now)


@pytest.fixture
def anna(db):
    return User.objects.create_user("anna", password=PASSWORD, is_staff=True, is_superuser=True)


@pytest.fixture
def annas(anna):
    """A browser in which Anna has signed in and out."""
    client = Client()
    assert try_to_sign_in(client=client).status_code == 302
    client.post(reverse("admin:logout"))
    return client


def use_up_the_address(address="198.51.100.7"):
    for number in range(PER_ADDRESS[0].limit):
        try_to_sign_in(f"guess{number}", "wrong", address=address)


def use_up_the_name(username="anna"):
    for number in range(PER_NAME[0].limit):
        try_to_sign_in(username, "wrong", address=f"203.0.113.{number}")
    assert try_to_sign_in(username, address="203.0.113.99").status_code == 429


def test_a_refused_address_uses_up_no_attempts_of_a_name_and_a_network_of_ipv6_is_one(anna):
    use_up_the_address()
    for _ in range(PER_NAME[0].limit + 1):
        assert try_to_sign_in(password="wrong", address="198.51.100.7").status_code == 429
    assert try_to_sign_in(address="192.0.2.1").status_code == 302

    for number in range(PER_ADDRESS[0].limit):
        try_to_sign_in(f"guess{number}", "wrong", address=f"2001:db8:1:2::{number:x}")
    assert try_to_sign_in(address="2001:db8:1:2:ffff::1").status_code == 429
    assert try_to_sign_in(address="2001:db8:1:3::1").status_code == 302


def test_an_operator_whose_name_or_address_is_locked_signs_in_from_a_known_browser(annas):
    use_up_the_name()
    assert try_to_sign_in(client=annas).status_code == 302

    use_up_the_address("192.0.2.1")
    assert try_to_sign_in(address="192.0.2.1").status_code == 429
    assert try_to_sign_in(client=annas, address="192.0.2.1").status_code == 302


def test_a_known_browser_has_ten_attempts_too(annas):
    for _ in range(PER_BROWSER[0].limit):
        assert try_to_sign_in(client=annas, password="wrong").status_code == 200
    assert try_to_sign_in(client=annas).status_code == 429
    assert try_to_sign_in(address="192.0.2.77").status_code == 302  # in other browsers, the name has its own count


def test_a_browser_is_known_for_its_operator_alone(annas):
    User.objects.create_user("ben", password=PASSWORD, is_staff=True)
    use_up_the_name("ben")
    assert try_to_sign_in("ben", client=annas).status_code == 429


def test_a_browser_is_known_for_the_password_of_then_alone(anna, annas):
    anna.set_password(NEW_PASSWORD)
    anna.save()
    use_up_the_name()
    assert try_to_sign_in(password=NEW_PASSWORD, client=annas).status_code == 429


def test_the_browser_in_which_one_changes_ones_password_stays_known(anna):
    client = Client()
    try_to_sign_in(client=client)
    passwords = {"old_password": PASSWORD, "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
    assert submit(client, PASSWORD_CHANGE, **passwords).status_code == 302
    use_up_the_name()
    assert try_to_sign_in(password=NEW_PASSWORD, client=client).status_code == 302


def test_cookies_of_failed_logins_and_own_making_make_no_browser_known(anna):
    assert known_browsers.COOKIE not in try_to_sign_in(password="wrong").cookies
    for forged in ("", "x", "a:b:c"):
        client = Client()
        client.cookies[known_browsers.COOKIE] = forged
        use_up_the_name()
        assert try_to_sign_in(client=client).status_code == 429


def test_a_known_browser_still_needs_the_password_and_its_cookie_is_out_of_reach_of_scripts(annas):
    assert annas.get(INDEX).status_code == 302
    cookie = try_to_sign_in().cookies[known_browsers.COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/admin/")
    assert cookie["secure"] == ("" if not settings.SESSION_COOKIE_SECURE else True)


class TestBehindTheLogin:
    @pytest.fixture
    def open_session(self, anna, sign_in):
        """Anna's unattended session."""
        return sign_in(anna)

    def guess(self, client):
        passwords = {"old_password": "wrong", "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
        return client.post(PASSWORD_CHANGE, passwords)

    def test_the_old_password_can_be_guessed_ten_times_which_uses_up_no_attempts_to_sign_in(self, anna, open_session):
        for _ in range(PER_OPERATOR[0].limit):
            assert self.guess(open_session).status_code == 200
        refused = self.guess(open_session)
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["Retry-After"]) <= 900
        passwords = {"old_password": PASSWORD, "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
        assert open_session.post(PASSWORD_CHANGE, passwords).status_code == 429
        anna.refresh_from_db()
        assert anna.check_password(PASSWORD)

        for _ in range(PER_OPERATOR[0].limit + 1):
            self.guess(open_session)
        assert try_to_sign_in().status_code == 302

    def test_from_several_sessions_no_more_often(self, anna, sign_in):
        assert [self.guess(sign_in(anna)).status_code for _ in range(PER_OPERATOR[0].limit + 1)][-1] == 429

    def test_a_code_can_be_guessed_ten_times_together_with_the_password(self, open_session):
        for _ in range(PER_OPERATOR[0].limit - 1):
            self.guess(open_session)
        assert open_session.post(SECOND_FACTOR, {"code": "000000"}).status_code == 200
        refused = open_session.post(SECOND_FACTOR, {"code": "000000"})
        assert (refused.status_code, "Retry-After" in refused.headers) == (429, True)

    def test_guessing_at_the_login_uses_up_none_there(self, open_session):
        use_up_the_name()
        assert open_session.post(SECOND_FACTOR, {"code": "000000"}).status_code == 200


def test_the_command_that_resets_the_second_factor_leaves_the_browser_known(anna, annas):
    call_command("reset_second_factor", "anna")
    use_up_the_name()
    assert try_to_sign_in(client=annas).status_code == 302
