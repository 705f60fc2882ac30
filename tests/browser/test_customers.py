"""Customer tasks take few clicks, and work by keyboard too."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.browser.conftest import serious_problems
from tests.factories import ALLOW_LICENSED, DENY_ALL


class Hand:
    """A mouse that counts its clicks."""

    def __init__(self) -> None:
        self.clicks = 0

    def click(self, locator) -> None:
        self.clicks += 1
        locator.click()


@pytest.fixture
def hand():
    return Hand()


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


def test_a_licence_that_ends_soon_is_renewed_in_three_clicks(admin, account, api, customers, hand):
    of_account(admin, account)
    assert serious_problems(admin) == []
    hand.click(admin.get_by_role("link", name="Renew commercial of Acme"))
    admin.get_by_text("100.00 USD is booked as of").wait_for()
    admin.get_by_text("Covers 1 item.").wait_for()
    assert serious_problems(admin) == []
    hand.click(admin.get_by_role("button", name="Save", exact=True))
    assert serious_problems(admin) == []
    hand.click(admin.get_by_role("button", name="Issue it"))
    admin.get_by_text("was added successfully").wait_for()
    renewed = next(one for one in licenses(api) if one["startsAt"][:19] == customers["licence"]["expiresAt"][:19])
    assert (renewed["requesterId"], renewed["tags"], renewed["price"]["amount"]) == ("org_acme", ["sea"], 100)
    assert hand.clicks == 3
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


def test_why_a_requester_was_denied_is_three_clicks_away(admin, account, customers, hand):
    of_account(admin, account)
    hand.click(admin.get_by_role("link", name="Customers", exact=True))
    hand.click(admin.get_by_role("link", name="org_wrong"))
    assert serious_problems(admin) == []
    hand.click(admin.get_by_role("table", name="Denied because").get_by_role("link"))
    admin.wait_for_url("**outcome=policy_denied**")
    assert rows_of(admin, 1)
    assert hand.clicks == 3


def test_the_page_of_an_item_tells_of_its_last_30_days(admin, account, customers):
    admin.goto(f"/admin/licensing/content/{customers['item']['id']}/change/")
    assert admin.locator("#of-one-allowed").inner_text() == "2"
    assert admin.locator("#of-one-denied").inner_text() == "1"
    admin.get_by_text("As a table, by day").click()
    today = admin.get_by_role("region", name="Decisions by day").locator("tbody tr").last.inner_text().split()
    assert today[1:] == ["2", "1", "3"]
    assert serious_problems(admin) == []


def test_an_id_is_copied_by_its_button(open_page, cookies, customers):
    permissions = ["clipboard-read", "clipboard-write"]
    page = open_page(
        f"/admin/licensing/license/{customers['licence']['id']}/change/", cookies, permissions=permissions
    )
    page.get_by_role("button", name=f"Copy {customers['licence']['id']}").click()
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == customers["licence"]["id"]


def test_an_account_is_chosen_in_two_clicks_and_holds_on_every_page(admin, account, another_account, customers, hand):
    admin.goto("/admin/licensing/requester/")
    hand.click(admin.locator(".account-switch summary"))
    assert serious_problems(admin) == []
    hand.click(admin.get_by_role("button", name=account.name))
    assert hand.clicks == 2
    admin.locator(".account-switch strong", has_text=account.name).wait_for()
    assert rows_of(admin, 2)
    for name, rows in (("Licences", 2), ("Decisions", 3), ("Content", 1)):
        admin.get_by_role("link", name=name, exact=True).click()
        admin.get_by_role("heading", name=name).wait_for()
        assert rows_of(admin, rows)
    admin.get_by_role("link", name="Overview", exact=True).click()
    assert admin.locator("#usage-total").inner_text() == "3"


def test_filters_are_saved_by_keyboard_and_applied_by_one_click(admin, account, customers, hand):
    admin.goto(f"/admin/licensing/license/?account__id__exact={account.id}&license_type=press")
    name = f"Press of {account.name}"
    admin.get_by_text("Save these filters").press("Enter")
    admin.get_by_label("Name", exact=True).fill(name)
    assert serious_problems(admin) == []
    admin.get_by_role("button", name="Save filters").press("Enter")
    admin.get_by_role("link", name=name, exact=True).wait_for()
    admin.goto("/admin/licensing/license/")
    hand.click(admin.get_by_role("link", name=name, exact=True))
    admin.wait_for_url("**license_type=press**")
    assert rows_of(admin, 1)
    assert hand.clicks == 1
    admin.get_by_role("button", name=f"Forget the filter {name}").click()
    admin.get_by_text("Save these filters").wait_for()


def test_a_list_is_sorted_by_the_heading_of_a_column(admin, account, customers, hand):
    of_account(admin, account)
    admin.goto("/admin/licensing/license/")
    hand.click(admin.get_by_role("columnheader", name="Licence type").get_by_role("link").first)
    admin.wait_for_url("**?o=**")
    types = admin.locator("#result_list tbody tr .field-license_type").all_inner_texts()
    assert types == sorted(types)
    assert serious_problems(admin) == []
