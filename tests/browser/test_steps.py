"""The number of steps of an operator's tasks: each click, filled-in field and key press."""

import re

import pytest

from tests.browser.conftest import serious_problems
from tests.browser.steps import Steps

PAYS = {"action": "allow", "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]}


@pytest.fixture
def at(admin):
    """Return a function that opens an address and starts counting steps."""

    def make(address):
        admin.goto(address)
        return Steps(admin)

    return make


@pytest.fixture
def charged(api):
    """A decision that org_a was charged for."""
    policy = api.post("/v1/policies", json={"name": "Paid", "rules": [PAYS]}).json()["id"]
    item = api.post("/v1/content", json={"title": "Markets", "policyId": policy}).json()["id"]
    price = {"amount": "0.25", "currency": "EUR"}
    api.post("/v1/licenses", json={"requesterId": "org_a", "licenseType": "commercial", "pricePerAccess": price})
    return api.post("/v1/access/check", json={"contentId": item, "requester": "org_a"}).json()


def test_a_policy_of_four_rules_takes_at_most_12_steps(at, api, account):
    operator = at("/admin/licensing/policy/")
    operator.click("link", "Add policy")
    operator.choose("account", account.name)
    operator.fill(operator.page.get_by_label("Name"), f"Research and trade of {account.name}")
    operator.click("button", re.compile("^Embargo"))
    operator.click("button", re.compile("^Research only"))
    operator.click("button", re.compile("^Paywall"))
    operator.open(2)
    operator.fill(operator.page.locator("[data-rule]").nth(2).get_by_label("Licence type"), "commercial")
    operator.click("button", re.compile("^Save$"))
    operator.page.get_by_text("was added successfully").wait_for()
    assert operator.taken <= 12
    [policy] = api.get("/v1/policies").json()["data"]
    told = [(rule["action"], rule["conditions"].get("licenseType")) for rule in policy["rules"]]
    assert told == [("deny", None), ("allow", "research"), ("allow", "commercial"), ("deny", None)]


def test_decisions_are_filtered_by_requester_and_reason_in_at_most_3_steps(at, api, account, charged):
    requester = f"org_{account.id[-8:]}"
    api.post("/v1/access/check", json={"contentId": charged["contentId"], "requester": requester})
    operator = at("/admin/analytics/accessevent/")
    operator.fill(operator.page.locator("#searchbar"), requester)
    operator.press("Enter")
    operator.page.wait_for_url(f"**q={requester}**")
    operator.click("link", "denied: no_license")
    operator.page.wait_for_url("**outcome=no_license**")
    assert operator.taken <= 3
    assert operator.page.locator("#result_list tr.form-row, #result_list tbody tr").count() >= 1
    assert operator.page.get_by_text("policy_denied", exact=True).count() == 0
    assert serious_problems(operator.page) == []


def test_a_refund_takes_at_most_3_steps(at, api, charged):
    operator = at(f"/admin/analytics/accessevent/{charged['id']}/change/")
    operator.click("link", "Refund")
    operator.click("button", re.compile("^Save$"))
    operator.click("button", "Book it")
    operator.page.get_by_text("was added successfully").wait_for()
    assert operator.taken <= 3
    assert sorted(entry["amount"] for entry in api.get("/v1/revenue").json()["data"]) == [-0.25, 0.25]
