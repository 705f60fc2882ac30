"""An editor does the jobs of money as the guides describe them, from the overview, each in a counted number of steps.

A step is a click, a filled-in field or a choice.
"""

import re

import pytest

from tests.browser.steps import Steps

SAVE = re.compile("^Save$")
RESULTS = "#result_list"


def open_customer(op, name):
    op.click("link", re.compile("^Customers$"))
    op.click_in(RESULTS, name)


def sell_with_a_fee_and_a_quota(op):
    open_customer(op, "org_acme")
    op.click("link", "Issue licence")
    op.click("link", "10,000 accesses a month, then 0.02 EUR each")
    op.fill(op.page.get_by_label("Licence type"), "commercial")
    op.fill(op.page.get_by_label("Recurring fee"), "50")
    op.select("Currency of the fee", "EUR")
    op.select("Every", "month")
    op.click("button", SAVE)
    op.click("button", "Issue it")
    op.see(op.page.get_by_text("50.00 EUR every month, next on"))


def top_up(op):
    open_customer(op, "org_prepaid")
    op.click("link", "Top up")
    op.fill(op.page.get_by_label("Amount"), "80")
    op.click("button", "Top up")
    op.click("button", "Add it")
    op.see(op.page.get_by_text("80.00 EUR added, and a payment of 80.00 EUR recorded."))


def refund_half(op):
    open_customer(op, "org_debtor")
    op.click("link", "Refund")
    op.click("link", re.compile("^Refund .*: Price of"))
    op.fill(op.page.get_by_label("Amount to refund"), "50")
    op.click("button", SAVE)
    op.click("button", "Book it")
    op.see(op.page.get_by_role("heading", name="Who it is"))


def correct_a_wrong_payment(op):
    void(op, "500.00 EUR", "Typing error: 50")
    open_customer(op, "org_debtor")
    op.click("link", "Record payment")
    op.fill(op.page.get_by_label("Amount"), "50")
    op.select("Currency", "EUR")
    op.click("button", SAVE)
    op.click("button", "Record it")
    op.see(op.page.get_by_role("heading", name="Who it is"))


def go_back_after_a_charge(op):
    open_customer(op, "org_debtor")
    op.click("link", "Charge")
    op.fill(op.page.get_by_label("Amount"), "1")
    op.fill(op.page.get_by_label("Reason"), "Postage")
    op.click("button", SAVE)
    op.click("button", "Book it")
    op.see(op.page.get_by_role("heading", name="Who it is"))
    reply = op.page.go_back()
    assert (reply.request.method, reply.status) == ("GET", 200)
    op.see(op.page.get_by_label("Reason"))
    op.page.goto("/admin/")


def take_back_a_chargeback(op):
    void(op, "20.00 EUR", "Returned by the bank")


def void(op, amount, reason):
    op.click("link", re.compile("^Payments$"))
    op.page.get_by_role("row", name=amount).get_by_role("link").first.click()
    op.taken += 1
    op.click("link", "Void")
    op.fill(op.page.get_by_label("Reason"), reason)
    op.click("button", "Void it")
    op.see(op.page.get_by_text("is void."))


def export_the_month_by_customer(op):
    op.click("link", re.compile("^Statements$"))
    op.click("button", re.compile("^Filters$"))
    op.taken += 2
    op.page.locator("#id_month + .select2 .select2-selection").click()
    op.page.locator(".select2-results__option", has_text="This month").click()
    op.click("button", "Apply Filters")
    with op.page.expect_download() as download:
        op.click("link", "Export")
    assert "org_debtor" in download.value.path().read_text()


def print_a_statement(op):
    open_customer(op, "org_debtor")
    op.click("link", re.compile("^Statement$"))
    op.click_in(RESULTS, re.compile("^20"))
    op.click("link", "Print")
    op.see(op.page.get_by_role("heading", name=re.compile("^Statement for ")))
    shown = op.page.inner_text("main, body")
    for line in (
        "Void of the payment of ",
        "Refunds and adjustments\t-100.00",
        "Closing balance\t-50.00 EUR in your favour",
    ):
        assert line in shown, shown
    op.page.goto("/admin/")


def show_what_a_customer_has_left(op):
    open_customer(op, "org_prepaid")
    op.click("link", re.compile("^Statement$"))
    op.page.get_by_role("row", name="EUR").get_by_role("link").first.click()
    op.taken += 1
    op.see(op.page.get_by_text("closing 80.00 EUR"))


def merge_two(op):
    open_customer(op, "org_twin")
    op.click("link", "Merge")
    op.fill(op.page.get_by_label("Into"), "org_acme")
    op.fill(op.page.get_by_label("Name"), "Twin")
    op.click("button", "Merge")
    op.click("button", "Merge them")
    op.see(op.page.get_by_text("Twin is merged into Acme."))


def erase_one(op):
    open_customer(op, "org_gone")
    op.click("link", "Erase")
    op.fill(op.page.get_by_label("Name"), "Gone")
    op.click("button", "Erase")
    op.see(op.page.get_by_text("The personal data was erased."))


# In this order, and at most so many steps.
JOBS = [
    (sell_with_a_fee_and_a_quota, 10),
    (top_up, 6),
    (refund_half, 7),
    (refund_half, 7),
    (correct_a_wrong_payment, 12),
    (take_back_a_chargeback, 5),
    (export_the_month_by_customer, 6),
    (print_a_statement, 5),
    (go_back_after_a_charge, 8),
    (show_what_a_customer_has_left, 4),
    (merge_two, 7),
    (erase_one, 5),
]


@pytest.fixture
def publisher(deployment):
    """An account in euros with customers that owe, have paid, and are there twice."""
    made = deployment.manage("create_account", "Books", "--plan", "professional", "--currency", "EUR")
    key = deployment.manage("create_api_key", "--account", made["id"], "--name", "Test", "--type", "secret")
    with deployment.client(key["key"]) as api:
        for name in ("Acme", "Prepaid", "Debtor", "Twin", "Gone"):
            customer = {"id": f"org_{name.lower()}", "name": name}
            assert api.post("/v1/requesters", json=customer).status_code == 201
        for customer in ("org_debtor", "org_twin", "org_gone"):
            price = {"amount": 100, "currency": "EUR"}
            terms = {"requesterId": customer, "licenseType": "commercial", "price": price}
            assert api.post("/v1/licenses", json=terms).status_code == 201
        for amount in (500, 20):
            payment = {"requesterId": "org_debtor", "amount": amount, "currency": "EUR"}
            assert api.post("/v1/payments", json=payment).status_code == 201
    return made["id"]


def test_an_editor_does_the_jobs_of_money_in_few_steps(deployment, publisher, open_page):
    deployment.manage("create_operator", "finance", "--role", "editor", "--account", publisher)
    cookies = [{"url": f"{deployment.url}/admin/", **deployment.ask_shell("session", "finance")}]
    page = open_page("/admin/", cookies)
    for job, most in JOBS:
        operator = Steps(page)
        job(operator)
        assert operator.taken <= most, (job.__name__, operator.taken)
