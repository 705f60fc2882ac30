"""The front page: a live check by mouse and keyboard, on desktop and phone."""

import pytest

from tests.browser.conftest import PHONE, serious_problems
from tests.faults.harness import deployed

PUBLIC = ["/", "/?item=harbour-budget&requester=bot_gleaner", "/docs/", "/docs/start/quickstart/"]


def test_a_choice_is_answered_at_once_with_its_trace(open_page, demo):
    page = open_page("/")
    answer = page.locator("#answer")
    answer.get_by_text("0.35 GBP").wait_for()
    page.get_by_label("reader_0417").check()
    answer.get_by_text("Denied: no_license").wait_for()
    answer.get_by_text("Does not match").first.wait_for()
    page.get_by_label("The Last Ferry to Skarholm").check()
    answer.get_by_text("Allowed").wait_for()
    assert page.url.endswith("/?requester=reader_0417&item=last-ferry#check")
    page.reload()
    answer.get_by_text("Allowed").wait_for()
    assert page.get_by_label("reader_0417").is_checked()


def test_it_works_by_keyboard(open_page, demo):
    page = open_page("/")
    page.get_by_label("Fenwick & Lowe").focus()
    page.keyboard.press("ArrowDown")
    page.locator("#answer").get_by_text("enterprise, issued by the service").wait_for()


def test_it_works_without_scripts(open_page, demo):
    page = open_page("/", java_script_enabled=False)
    page.get_by_label("reader_0417").check()
    page.get_by_role("button", name="Check access").click()
    page.locator("#answer").get_by_text("Denied: no_license").wait_for()


@pytest.mark.parametrize("path", PUBLIC)
def test_it_can_be_read_and_worked_by_everybody(open_page, demo, path):
    """Uses the system's theme setting; the theme switch in `serious_problems` is the admin's own."""
    for scheme in ("light", "dark"):
        page = open_page(path, color_scheme=scheme)
        assert serious_problems(page) == []


def test_the_reference_is_no_wider_than_a_phone(open_page, demo):
    page = open_page("/docs/api/", viewport=PHONE)
    page.get_by_text("Check access", exact=True).first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_without_a_demo_it_can_be_read_too(open_page, chromium, tmp_path):
    with deployed(tmp_path) as empty:
        page = open_page(f"{empty.url}/")
        page.get_by_text("There is no demo account to try this on").wait_for()
        assert serious_problems(page) == []
