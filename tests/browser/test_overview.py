"""The overview's figures equal the API's."""

import pytest

from tests.browser.conftest import serious_problems

POLICY = {
    "name": "Open to the licensed",
    "rules": [
        {"action": "allow", "conditions": {"licenseType": "commercial"}, "permissions": ["full_access"]},
        {"action": "deny", "conditions": {"default": True}, "message": "A licence is required."},
    ],
}
REQUESTERS = [{"id": "org_acme", "name": "Acme", "licenseType": "commercial"}, {"id": "org_zero", "name": "Zero"}]


@pytest.fixture
def decided(api):
    """Six decisions of two items and two requesters, and two amounts in the ledger."""
    policy = api.post("/v1/policies", json=POLICY).json()["id"]
    for title in ("Tide table", "Salt and slate"):
        item = api.post("/v1/content", json={"title": title, "policyId": policy}).json()["id"]
        for requester in (*REQUESTERS, REQUESTERS[0]):
            assert api.post("/v1/access/check", json={"contentId": item, "requester": requester}).status_code == 200
    for amount in ("1234.5", "-34.25"):
        entry = {"amount": amount, "currency": "USD", "description": "Fair"}
        assert api.post("/v1/revenue", json=entry).status_code == 201


def figures(page, part):
    """Return the figures of a section of the page by name, as numbers."""
    shown = page.locator(f"[id^={part}-]:is(dd)")
    texts = {one.get_attribute("id").removeprefix(f"{part}-"): one.inner_text() for one in shown.all()}
    return {name: float(text.replace(",", "")) for name, text in texts.items() if text != "–"}


def choose_account(page, account, period=""):
    page.goto("/admin/")  # opened possibly before the account existed
    if page.locator(".account-switch").count():  # where there is more than one
        page.locator(".account-switch summary").click()
        page.get_by_role("button", name=account.name).click()
    if period:
        page.get_by_role("link", name=period, exact=True).click()
    page.wait_for_load_state()


def test_the_overviews_figures_are_those_of_the_api(admin, api, account, decided):
    choose_account(admin, account, "7 days")
    usage = api.get("/v1/analytics/usage?period=7d").json()
    revenue = api.get("/v1/analytics/revenue?period=7d").json()
    assert usage["summary"]["totalRequests"] == 6
    shown = figures(admin, "usage")
    assert (shown["total"], shown["allowed"], shown["denied"]) == tuple(
        usage["summary"][name] for name in ("totalRequests", "allowed", "denied")
    )
    assert shown["requesters"] == usage["summary"]["uniqueRequesters"]
    assert figures(admin, "revenue")["total"] == revenue["summary"]["total"] == 1200.25
    admin.get_by_text("As a table, by day").first.click()
    table = admin.get_by_role("region", name="Decisions by day").locator("tbody tr").all_inner_texts()
    assert [row.split() for row in table] == [
        [day["date"], str(day["allowed"]), str(day["denied"]), str(day["requests"])] for day in usage["timeSeries"]
    ]
    most = admin.get_by_role("table", name="Content asked for most")
    most.get_by_role("link", name="Tide table", exact=True).wait_for()


def test_a_currency_without_rates_leads_to_the_one_that_has_them(admin, account, decided):
    admin.goto(f"/admin/?account={account.id}&currency=CHF")
    admin.get_by_text("python manage.py import_exchange_rates").wait_for()
    admin.get_by_role("link", name="show it in USD").click()
    admin.wait_for_url("**currency=USD**")
    assert figures(admin, "revenue")["total"] == 1200.25


def test_the_overview_can_be_read_by_everybody(admin, account, decided):
    choose_account(admin, account)
    assert serious_problems(admin) == []


def test_the_choice_is_made_by_keyboard(admin, account, decided):
    admin.goto(f"/admin/?account={account.id}")
    admin.get_by_role("link", name="30 days", exact=True).focus()
    for key in ("Tab", "Enter"):
        admin.keyboard.press(key)
    admin.wait_for_url(f"**account={account.id}&period=90d**")
    assert admin.get_by_role("link", name="90 days", exact=True).get_attribute("aria-current") == "true"
    assert figures(admin, "usage")["total"] == 6
