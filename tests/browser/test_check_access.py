"""An operator runs a dry-run check, repeats a recorded one, and saves it as a policy test."""

import pytest

from tests.browser.conftest import PHONE, serious_problems


@pytest.fixture
def decision(api):
    allow = {"action": "allow", "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]}
    policy = api.post("/v1/policies", json={"name": "Commercial use", "rules": [allow]}).json()
    item = api.post("/v1/content", json={"title": "Markets", "policyId": policy["id"]}).json()
    return api.post("/v1/access/check", json={"contentId": item["id"], "requester": "org_a"}).json()


def test_a_check_is_decided_and_kept_as_an_example_that_guards_the_policy(admin, api, decision):
    admin.goto("/admin/")
    admin.get_by_role("link", name="Check access").first.click()
    admin.get_by_label("Item").fill(decision["contentId"])
    admin.get_by_label("Customer").fill("org_a")
    admin.get_by_label("Customer").press("Enter")
    admin.get_by_text("Denied: no_license").wait_for()
    assert serious_problems(admin) == []
    admin.get_by_label("What it shows").fill("Nobody reads without a licence")
    admin.get_by_role("button", name="Keep as an example").click()
    admin.get_by_text("Saved as a test of Commercial use").wait_for()
    admin.get_by_text("org_a, without a licence, asks for an article: denied (no_license).").wait_for()
    assert serious_problems(admin) == []

    admin.get_by_label("Otherwise").select_option("allow")
    admin.get_by_role("button", name="Save", exact=True).click()
    admin.get_by_text("expected to be denied (no_license), but it is allowed by the default action").first.wait_for()
    assert serious_problems(admin) == []
    assert api.get(f"/v1/policies/{decision['policyId']}").json()["defaultAction"] == "deny"


def test_it_can_be_asked_on_a_phone(open_page, cookies, decision):
    page = open_page(f"/admin/check-access/?decision={decision['id']}", cookies=cookies, viewport=PHONE)
    page.get_by_text("Denied: no_license").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
