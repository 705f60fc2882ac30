"""axe-core finds nothing serious on the admin's pages, in either theme, and the menu works by keyboard."""

import pytest

from tests.browser.conftest import serious_problems

PAGES = [
    "/admin/",
    "/admin/accounts/account/",
    "/admin/accounts/account/add/",
    "/admin/accounts/apikey/",
    "/admin/accounts/apikey/add/",
    "/admin/auth/user/1/change/",
    "/admin/two-factor/",
    "/admin/password_change/",
]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_can_be_read_and_worked_by_everybody(open_page, signed_in_state, account, theme):
    page = open_page("/admin/", storage_state=signed_in_state, color_scheme=theme)
    problems = {}
    for path in PAGES:
        page.goto(path)
        page.wait_for_load_state("load")
        problems[path] = serious_problems(page)
    assert problems == {path: [] for path in PAGES}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_so_can_the_login(open_page, theme):
    assert serious_problems(open_page("/admin/", color_scheme=theme)) == []


def test_the_menu_is_hidden_and_shown_by_keyboard(admin):
    menu = admin.locator("#nav-sidebar-apps")
    for shown in (False, True):
        admin.get_by_role("button", name="Menu").first.press("Enter")
        menu.wait_for(state="visible" if shown else "hidden")
