"""A session that ends while a form is open: after the login the form is there as it was, and not saved yet."""

import pytest
from django.conf import settings

from tests.browser.conftest import choose


@pytest.fixture
def sign_in_again(admin, operator):
    def do():
        admin.get_by_label("Username").fill(operator.username)
        admin.get_by_label("Password").fill(operator.password)
        admin.get_by_role("button", name="Log in").click()

    return do


def end_session(page):
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)


def test_a_form_survives_the_end_of_its_session(admin, account, sign_in_again):
    admin.goto("/admin/licensing/policy/add/")
    choose(admin, "account", account.name)
    admin.get_by_label("Name").fill("Half a day's work")
    admin.get_by_role("button", name="Add a rule").click()
    admin.get_by_label("Always").check()
    admin.get_by_label("Message").fill("Write to sales.")
    end_session(admin)
    admin.get_by_role("button", name="Save", exact=True).click()
    sign_in_again()
    admin.get_by_role("button", name="Save", exact=True).wait_for()
    assert admin.get_by_label("Name").input_value() == "Half a day's work"
    assert admin.get_by_label("Message").input_value() == "Write to sales."
    admin.get_by_role("button", name="Save", exact=True).click()
    admin.get_by_role("button", name="Yes, save it").or_(admin.get_by_text("was added successfully")).wait_for()


def test_a_form_that_was_saved_is_not_shown_again(admin, account, sign_in_again):
    admin.goto("/admin/licensing/content/add/")
    choose(admin, "account", account.name)
    admin.get_by_label("Title").fill("Markets")
    admin.get_by_role("button", name="Save", exact=True).click()
    admin.get_by_text("was added successfully").wait_for()
    end_session(admin)
    admin.goto("/admin/licensing/content/add/")
    sign_in_again()
    admin.get_by_role("button", name="Save", exact=True).wait_for()
    assert admin.get_by_label("Title").input_value() == ""
