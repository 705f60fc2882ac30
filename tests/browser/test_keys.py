"""An operator creates a key, which then works."""

import re

from tests.browser.conftest import PHONE, choose, serious_problems, sign_in


def make_key(page, account, name="Web server"):
    """Create a key, starting from the list of keys; return its text."""
    page.goto("/admin/accounts/apikey/")
    page.get_by_role("link", name="Add API key").click()
    choose(page, "account", account.name)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Read content (content:read)").check()
    with page.expect_response(lambda reply: reply.url.endswith("/seen/")):  # after that, a reload shows it no more
        page.get_by_role("button", name="Save", exact=True).click()
    text = page.locator("#key-text").inner_text()
    assert re.fullmatch(r"svc_sk_[0-9A-Za-z]{34}", text)
    return text


def test_an_operator_signs_in_makes_a_key_and_it_works(open_page, deployment, operator, account):
    page = open_page("/admin/")
    sign_in(page, operator.username, operator.password)
    with deployment.client(make_key(page, account)) as api:
        assert api.get("/v1/content").status_code == 200
        assert api.get("/v1/policies").status_code == 403


def test_the_copy_button_copies_the_key(open_page, cookies, account):
    page = open_page(None, cookies, permissions=["clipboard-read", "clipboard-write"])
    text = make_key(page, account)
    assert serious_problems(page) == []
    page.set_viewport_size(PHONE)
    shown = page.locator("#key-text")
    assert shown.evaluate("element => element.scrollWidth - element.clientWidth") <= 0  # all of it, on a phone too
    page.get_by_role("button", name="Copy").click()
    page.get_by_text("Copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == text


def test_a_double_click_on_save_shows_the_key(admin, deployment, account):
    admin.goto("/admin/accounts/apikey/add/")
    choose(admin, "account", account.name)
    admin.get_by_label("Name").fill("Clicked twice")
    admin.get_by_label("Read content (content:read)").check()
    admin.get_by_role("button", name="Save", exact=True).dblclick()
    with deployment.client(admin.locator("#key-text").inner_text()) as api:
        assert api.get("/v1/content").status_code == 200


def test_a_reload_and_the_way_back_show_the_key_no_more(admin, deployment, account):
    text = make_key(admin, account, "Shown once")
    admin.reload()
    admin.get_by_text("Shown once").first.wait_for()
    assert text not in admin.content()
    admin.go_back()
    assert text not in admin.content()
    with deployment.client(account.key) as api:
        assert len(api.get("/v1/api-keys").json()["data"]) == 2  # the account's first, and this one


def test_a_key_can_be_made_on_a_phone(open_page, cookies, account):
    page = open_page("/admin/accounts/apikey/add/", cookies=cookies, viewport=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    choose(page, "account", account.name)
    page.get_by_label("Name").fill("From the train")
    page.get_by_label("Read content (content:read)").check()
    page.get_by_role("button", name="Save", exact=True).click()
    assert page.locator("#key-text").inner_text().startswith("svc_sk_")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
