"""Customer tasks take few clicks, and work by keyboard too."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.browser.conftest import serious_problems
from tests.browser.steps import Steps
from tests.factories import ALLOW_LICENSED, DENY_ALL


def rows_of(page, number):
    """Wait until the list has this number of rows."""
    page.locator("#result_list tbody tr").nth(number - 1).wait_for()
    return page.locator("#result_list tbody tr").count() == number


@pytest.fixture
def another_account(deployment):
    """A second account, so that operators have a choice."""
    return deployment.manage("create_account", "Another publisher")


def days_from_now(days):
    return (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def customers(api):
    """An item with a tag, a customer whose licence ends soon, and one whose licence does not grant access."""
    policy = api.post("/v1/policies", json={"name": "Licensed", "rules": [ALLOW_LICENSED, DENY_ALL]}).json()
    item = api.post("/v1/content", json={"title": "Tide table", "policyId": policy["id"], "tags": ["sea"]}).json()
    terms = {"licenseType": "commercial", "tags": ["sea"], "price": {"amount": 100, "currency": "USD"}}
    acme = {"requesterId": "org_acme", "requesterName": "Acme", "expiresAt": days_from_now(20), **terms}
    acme["startsAt"] = days_from_now(-345)
    licence = api.post("/v1/licenses", json=acme).json()
    api.post("/v1/licenses", json={"requesterId": "org_wrong", "licenseType": "press"})
    for requester in ("org_acme", "org_acme", "org_wrong"):
        api.post("/v1/access/check", json={"contentId": item["id"], "requester": requester})
    return {"item": item, "licence": licence}


def licenses(api):
    return api.get("/v1/licenses").json()["data"]


def of_account(admin, account):
    admin.goto(f"/admin/?account={account.id}")


def test_a_licence_that_ends_soon_is_renewed_in_three_clicks(admin, account, api, customers):
    operator = Steps(admin)
    of_account(admin, account)
    assert serious_problems(admin) == []
    operator.click("link", "Renew commercial of Acme")
    admin.get_by_text("100.00 USD is booked as of").wait_for()
    admin.get_by_text("Covers 1 item.").wait_for()
    assert serious_problems(admin) == []
    operator.click("button", re.compile("^Save$"))
    assert serious_problems(admin) == []
    operator.click("button", "Issue it")
    admin.get_by_text("was added successfully").wait_for()
    renewed = next(one for one in licenses(api) if one["startsAt"][:19] == customers["licence"]["expiresAt"][:19])
    assert (renewed["requesterId"], renewed["tags"], renewed["price"]["amount"]) == ("org_acme", ["sea"], 100)
    assert operator.taken == 3
    of_account(admin, account)
    admin.get_by_text("No licence ends within 60 days").wait_for()


def test_a_customer_who_is_denied_is_given_a_licence_with_suggestions_by_keyboard(admin, account, api, customers):
    of_account(admin, account)
    admin.get_by_role("link", name="Issue a licence to org_wrong").press("Enter")
    admin.get_by_label("Licence type").fill("commercial")
    admin.get_by_role("combobox", name="Find and add: Items").press_sequentially("tide")
    admin.get_by_role("option", name="Tide table").wait_for()
    assert serious_problems(admin) == []
    admin.keyboard.press("ArrowDown")
    admin.keyboard.press("Enter")
    admin.get_by_text("Covers 1 item: Tide table.").wait_for()
    admin.get_by_text("Customer: org_wrong.").wait_for()
    admin.get_by_role("button", name="Save", exact=True).press("Enter")
    admin.get_by_text("was added successfully").wait_for()
    issued = next(one for one in licenses(api) if one["contentIds"])
    assert (issued["requesterId"], issued["contentIds"]) == ("org_wrong", [customers["item"]["id"]])
    check = {"contentId": customers["item"]["id"], "requester": "org_wrong"}
    assert api.post("/v1/access/check", json=check).json()["allowed"] is True


def test_a_new_customer_is_told_from_a_known_one_while_typing(admin, account, customers):
    of_account(admin, account)
    admin.goto("/admin/licensing/license/add/")
    field = admin.locator("#id_requester_own_id")
    field.press_sequentially("acm")
    admin.get_by_role("option", name="Acme · org_acme").click()
    assert field.input_value() == "org_acme"
    admin.get_by_text("Customer: Acme (org_acme).").wait_for()
    field.fill("")
    field.press_sequentially("org_newco")
    admin.get_by_role("option", name="New customer: org_newco").wait_for()
    field.press("Escape")
    admin.get_by_text("New customer: org_newco.").wait_for()
    admin.get_by_label("Price", exact=True).fill("100")
    admin.get_by_label("Currency of the price").select_option("USD")
    admin.get_by_text("100.00 USD is booked now.").wait_for()
    assert serious_problems(admin) == []
    admin.locator("#id_requester_name").fill("New & Co")
    admin.get_by_role("link", name="10,000 accesses a month", exact=True).click()  # it keeps whom the licence is for
    admin.wait_for_url("**template=quota**")
    assert (field.input_value(), admin.locator("#id_requester_name").input_value()) == ("org_newco", "New & Co")


def test_an_id_is_copied_by_its_button(open_page, cookies, customers):
    permissions = ["clipboard-read", "clipboard-write"]
    page = open_page(
        f"/admin/licensing/license/{customers['licence']['id']}/change/", cookies, permissions=permissions
    )
    page.get_by_role("button", name=f"Copy {customers['licence']['id']}").click()
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == customers["licence"]["id"]


def test_an_account_is_chosen_in_two_clicks_and_holds_on_every_page(admin, account, another_account, customers):
    admin.goto("/admin/licensing/requester/")
    admin.locator(".account-switch summary").click()
    assert serious_problems(admin) == []
    admin.get_by_role("button", name=account.name).click()
    admin.locator(".account-switch strong", has_text=account.name).wait_for()
    assert rows_of(admin, 2)
    for name, rows in (("Licences", 2), ("Decisions", 3), ("Content", 1)):
        admin.get_by_role("link", name=name, exact=True).click()
        admin.get_by_role("heading", name=name).wait_for()
        assert rows_of(admin, rows)
    admin.get_by_role("link", name="Overview", exact=True).click()
    assert admin.locator("#usage-total").inner_text() == "3"
