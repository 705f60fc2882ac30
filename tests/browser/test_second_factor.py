"""An operator sets up a second factor with an authenticator app, then signs in with it and with a recovery code."""

import time

import pytest

from operators.login import totp
from tests.browser.conftest import serious_problems, sign_in


@pytest.fixture
def anna(deployment, request):
    name = f"anna{abs(hash(request.node.name)) % 100_000}"
    return deployment.manage("create_operator", name, "--superuser")


def code_of(secret, steps=0):
    return totp.code_at(totp.from_text(secret), int(time.time()) // totp.STEP + steps)


def set_up(page):
    """Set up a second factor from the user menu; return the secret and the recovery codes."""
    page.goto("/admin/two-factor/")
    secret = page.locator("#secret").inner_text()
    page.get_by_label("Code").fill(code_of(secret))
    page.get_by_role("button", name="Turn it on").click()
    return secret, page.locator("#recovery-codes li").all_inner_texts()


def sign_in_with(page, operator, code):
    page.get_by_label("Code").fill(code)
    sign_in(page, operator["username"], operator["password"])


def test_it_is_set_up_and_a_login_asks_for_it_then(open_page, anna):
    page = open_page("/admin/")
    sign_in(page, anna["username"], anna["password"])
    secret, codes = set_up(page)
    assert len(codes) == 10
    assert serious_problems(page) == []
    page.get_by_role("link", name="I have kept them").click()
    page.goto("/admin/two-factor/")
    page.get_by_text("You have 10 recovery codes left.").wait_for()
    assert serious_problems(page) == []

    elsewhere = open_page("/admin/")
    elsewhere.get_by_label("Username").fill(anna["username"])
    elsewhere.get_by_label("Password").fill(anna["password"])
    elsewhere.get_by_role("button", name="Log in").click()
    elsewhere.get_by_text("Wrong name, password or code").wait_for()
    assert serious_problems(elsewhere) == []
    sign_in_with(elsewhere, anna, code_of(secret, 1))
    sign_in_with(open_page("/admin/"), anna, codes[0])
