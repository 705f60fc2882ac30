"""Every list on a phone: two lines per row, nothing wider than the screen, rows can be selected and opened."""

import re

import pytest

from tests.admin.every_page import names_of_pages
from tests.browser.conftest import PHONE

LISTS = sorted(name.removesuffix("_changelist") for name in names_of_pages() if name.endswith("_changelist"))
MOST = 72  # pixels of two lines with their padding


@pytest.fixture
def phone(open_page, cookies, demo):
    return open_page(None, cookies, viewport=PHONE)


def path_of(name):
    app, model = name.split("_")
    return f"/admin/{app}/{model}/"


def test_lists_on_a_phone_have_rows_of_two_lines_whose_name_has_the_whole_line(phone):
    for name in LISTS:
        phone.goto(path_of(name))
        rows = phone.locator("#result_list tbody tr")
        rows.first.wait_for()
        assert phone.evaluate("document.documentElement.scrollWidth") == PHONE["width"], name
        heights = rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().height)")
        assert max(heights) <= MOST, name
        lines = rows.evaluate_all(
            """rows => rows.map(row => new Set([...row.querySelectorAll('.row-name, .row-fact')]
                 .map(cell => Math.round(cell.getBoundingClientRect().bottom / 12))).size)"""
        )
        assert max(lines) <= 2, name
        beyond = rows.evaluate_all(
            "(rows, width) => rows.flatMap(row => [...row.querySelectorAll('.row-name, .row-fact')])"
            ".filter(cell => cell.getBoundingClientRect().right > width).length",
            PHONE["width"],
        )
        assert beyond == 0, name
        widths = rows.locator(".row-name").evaluate_all("all => all.map(one => one.offsetWidth)")
        assert min(widths) > PHONE["width"] / 2, name


def test_a_touch_anywhere_on_a_row_opens_its_page(phone):
    phone.goto(path_of("analytics_accessevent"))
    row = phone.locator("#result_list tbody tr").first
    when = row.locator(".row-link").inner_text()
    box = row.bounding_box()
    phone.mouse.click(box["x"] + box["width"] - 12, box["y"] + 12)
    phone.wait_for_url("**/change/**")
    phone.get_by_text(when).first.wait_for()


def test_rows_are_chosen_and_changed_on_a_phone(phone):
    phone.goto(f"{path_of('licensing_content')}?q=long")
    phone.get_by_label("Select A title that is far too long").check()
    bar = phone.locator("#changelist-actions")
    bar.wait_for()
    bar.get_by_text(re.compile(r"1 of \d+ selected")).wait_for()
    assert bar.bounding_box()["width"] <= PHONE["width"]
    bar.locator("select[name=action]").select_option(index=1)
    bar.get_by_role("button", name="Run").click()
    phone.get_by_text("A title that is far too long").or_(phone.get_by_text("1 item")).first.wait_for()
    assert phone.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_all_rows_are_chosen_at_once(phone):
    phone.goto(path_of("licensing_content"))
    phone.get_by_label("Select all rows of this page").check()
    checked = phone.locator("#result_list tbody input:checked").count()
    assert checked == phone.locator("#result_list tbody tr").count() > 1


def test_a_row_is_opened_by_keyboard(phone):
    phone.goto(path_of("licensing_policy"))
    phone.locator(".row-link").first.focus()
    phone.keyboard.press("Enter")
    phone.wait_for_url("**/change/**")
