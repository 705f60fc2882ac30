import time

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings as configured

from operators.login.session_store import SECOND_FACTOR, SIGNED_IN_AT
from operators.signed_in import is_operator

pytestmark = pytest.mark.django_db(transaction=True)  # the session is read in a thread


def known(client):
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    return async_to_sync(is_operator)([(b"host", b"localhost"), (b"cookie", cookies.encode())])


def change_session(client, **values):
    session = client.session
    session.update(values)
    session.save()


@pytest.fixture
def browser(staff, sign_in):
    return sign_in(staff())


def test_operators_are_known_by_a_session_that_has_not_expired(browser):
    assert known(browser)
    change_session(browser, **{SIGNED_IN_AT: time.time() - configured.SESSION_COOKIE_AGE - 1})
    assert not known(browser)
    browser.cookies.clear()
    assert not known(browser)
    browser.cookies[configured.SESSION_COOKIE_NAME] = "a" * 32
    assert not known(browser)


def test_former_operators_are_not_signed_in(staff, sign_in):
    for change in ({"is_active": False}, {"is_staff": False}):
        user = staff()
        browser = sign_in(user)
        for name, value in change.items():
            setattr(user, name, value)
        user.save()
        assert not known(browser), change


def test_a_session_that_lacks_a_second_factor_which_is_asked_for_is_none(browser, settings):
    settings.ADMIN_REQUIRE_TOTP = True
    assert not known(browser)
    change_session(browser, **{SECOND_FACTOR: True})
    assert known(browser)
