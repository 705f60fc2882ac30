"""If the session ends while a form is open, the login restores the form's values without saving them."""

import pytest
from django.conf import settings

from tests.browser.conftest import choose, serious_problems


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


def test_a_question_with_a_choice_survives_it_too(admin, account, sign_in_again):
    admin.goto(f"/admin/accounts/account/{account.id}/plan/")
    admin.get_by_label("Requests per minute", exact=True).fill("77")
    end_session(admin)
    admin.get_by_role("button", name="Change the plan").click()
    sign_in_again()
    admin.get_by_role("button", name="Change the plan").wait_for()
    assert admin.get_by_label("Requests per minute", exact=True).input_value() == "77"
    admin.get_by_role("button", name="Change the plan").click()
    admin.get_by_text("77 a minute").first.wait_for()


def test_a_file_that_was_chosen_stays_chosen_while_one_signs_in_elsewhere(admin, account, operator):
    admin.goto("/admin/licensing/content/import/")
    choose(admin, "account", account.name)
    text = b"externalId,title\nsun,Sunset\n"
    admin.locator("input[type=file]").set_input_files({"name": "items.csv", "mimeType": "text/csv", "buffer": text})
    end_session(admin)
    admin.get_by_role("button", name="Show what it would do").click()
    admin.get_by_text("Your session has ended.").wait_for()
    assert serious_problems(admin) == []
    with admin.expect_popup() as opened:
        admin.get_by_role("link", name="Sign in in another tab").click()
    elsewhere = opened.value
    elsewhere.get_by_label("Username").fill(operator.username)
    elsewhere.get_by_label("Password").fill(operator.password)
    elsewhere.get_by_role("button", name="Log in").click()
    elsewhere.get_by_role("button", name="Show what it would do").wait_for()
    admin.get_by_role("button", name="Show what it would do").click()
    admin.get_by_text("Nothing is written yet.").wait_for()
    assert admin.locator("#import-created").inner_text() == "1"
