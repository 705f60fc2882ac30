import time
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from operators.login.limits import PER_ADDRESS, PER_NAME, in_words, seconds_to_wait
from operators.login.session_store import SIGNED_IN_AT
from tests.admin.signing_in import INDEX, PASSWORD, try_to_sign_in


@pytest.fixture
def anna(db):
    return User.objects.create_user("anna", password=PASSWORD, is_staff=True)


def test_name_and_password_begin_a_new_session(anna):
    client = Client()
    assert try_to_sign_in(client=client).status_code == 302
    assert client.get(INDEX).status_code == 200
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = "planted-by-somebody-else-0000000"
    try_to_sign_in(client=client)
    assert client.cookies[settings.SESSION_COOKIE_NAME].value != "planted-by-somebody-else-0000000"
    assert client.get(INDEX).status_code == 200
    cookie = try_to_sign_in().cookies[settings.SESSION_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/admin/")
    assert cookie["max-age"] == settings.SESSION_COOKIE_AGE <= 12 * 3600


def test_failed_logins_do_not_reveal_their_cause(anna):
    User.objects.create_user("guest", password=PASSWORD)
    replies = [try_to_sign_in(password="wrong"), try_to_sign_in("nobody"), try_to_sign_in("guest")]
    errors = {str(reply.context["form"].non_field_errors()) for reply in replies}
    assert [reply.status_code for reply in replies] == [200, 200, 200]
    assert len(errors) == 1


def test_after_ten_attempts_on_a_name_in_any_case_even_the_right_password_waits(anna, clock):
    for number in range(PER_NAME[0].limit):
        name = "ANNA" if number % 2 else "anna"
        assert try_to_sign_in(name, "wrong", address=f"192.0.2.{number}").status_code == 200
    refused = try_to_sign_in("Anna", address="192.0.2.99")
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 900
    assert f"Try again in {in_words(int(refused.headers['Retry-After']))}" in refused.content.decode()


def test_after_fifty_attempts_from_an_address_no_name_is_tried_from_there(anna, clock):
    for number in range(PER_ADDRESS[0].limit):
        try_to_sign_in(f"guess{number}", "wrong")
    assert try_to_sign_in().status_code == 429
    assert try_to_sign_in(address="198.51.100.7").status_code == 302


def test_at_most_ten_simultaneous_attempts_pass(db, clock):
    with ThreadPoolExecutor(16) as pool:
        waits = list(pool.map(lambda number: seconds_to_wait("anna", ip_address(f"192.0.2.{number}")), range(60)))
    assert waits.count(None) == PER_NAME[0].limit


def test_a_wait_is_said_in_minutes_and_never_too_short():
    assert [in_words(seconds) for seconds in (1, 60, 61, 900)] == ["1 minute", "1 minute", "2 minutes", "15 minutes"]


def test_the_name_that_was_tried_is_in_the_log_and_the_password_is_not(anna, caplog, clock):
    for _ in range(PER_NAME[0].limit + 1):
        try_to_sign_in(password="hunter2-hunter2")
    assert "anna" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize(("age", "status"), [(-60, 200), (60, 302)])
def test_a_session_ends_by_the_clock_however_busy_it_was(anna, sign_in, age, status):
    client = sign_in(anna)
    session = client.session
    session[SIGNED_IN_AT] = int(time.time()) - settings.SESSION_COOKIE_AGE - age
    session.save()
    assert client.get(INDEX).status_code == status


def test_a_form_from_elsewhere_is_refused(admin):
    client = Client(enforce_csrf_checks=True)
    client.cookies = admin.cookies
    assert client.post(reverse("admin:accounts_account_add"), {"name": "Forged", "plan": "starter"}).status_code == 403
