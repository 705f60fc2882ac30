"""No task takes more steps than before the customer pages, statements and rule editor were added (bc27c73).

A step is a click, a filled-in field, or a key press; choosing an account takes three. Each task begins on the
overview.
"""

import re

import pytest

from tests.browser.steps import Steps
from tests.factories import ALLOW_LICENSED, DENY_ALL

CSV = b"externalId,title\nsun,Sunset\n"


def make_a_key(op, account, things):
    op.click("link", "API keys")
    op.click("link", "Add API key")
    op.choose("account", account.name)
    op.fill(op.page.get_by_label("Name"), "Web")
    op.tick("Read content (content:read)")
    op.click("button", re.compile("^Save$"))
    op.see(op.page.locator("#key-text"))


def revoke_a_key(op, account, things):
    op.click("link", "API keys")
    op.click("link", things["key"])
    op.click("link", "Revoke")
    op.click("button", "Revoke it")
    op.see(op.page.get_by_text("is revoked"))


def issue_a_licence(op, account, things):
    op.click("link", re.compile("^Licences"))
    op.click("link", "Add licence")
    op.choose("account", account.name)
    op.fill(op.page.locator("#id_requester_own_id"), "org_new")
    op.fill(op.page.get_by_label("Licence type"), "commercial")
    op.click("button", re.compile("^Save$"))
    op.see(op.page.get_by_text("was added successfully"))


def revoke_a_licence(op, account, things):
    op.click("link", re.compile("^Licences"))
    op.click("link", things["licence"])
    op.click("link", "Revoke")
    op.click("button", "Revoke it")
    op.see(op.page.get_by_text("is revoked"))


def import_items(op, account, things):
    op.click("link", re.compile("^Content$"))
    op.click("link", "Import")
    op.choose("account", account.name)
    op.taken += 1
    op.page.locator("input[type=file]").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": CSV})
    op.click("button", "Show what it would do")
    op.click("button", "Import 1 item")
    op.see(op.page.get_by_text("Done, into the account"))


def archive_an_item(op, account, things):
    op.click("link", re.compile("^Content$"))
    op.taken += 2
    op.page.get_by_role("row", name=things["item"]).locator("input.action-select").check()
    op.page.locator("select[name=action]").select_option("archive")
    op.click("button", "Run")
    op.click("button", "Archive 1 item")
    op.see(op.page.get_by_text("1 item changed."))


def find_a_decision(op, account, things):
    op.click("link", "Decisions")
    op.fill(op.page.locator("#searchbar"), things["decision"])
    op.press("Enter")
    op.page.wait_for_url("**q=dec_**")
    op.taken += 1
    op.page.locator("#result_list tbody a").first.click()
    op.see(op.page.get_by_text("Denied").first)


def add_a_rule(op, account, things):
    op.click("link", "Policies")
    op.click("link", things["policy"])
    op.click("button", "Add a rule")
    op.fill(op.page.get_by_label("Licence type").nth(1), "press")
    op.fill(op.page.get_by_label("Grants these permissions").nth(1), "read")
    op.click("button", re.compile("^Save$"))
    op.click("button", "Yes, save it")
    op.see(op.page.get_by_text("was changed successfully"))


def roll_a_policy_back(op, account, things):
    op.click("link", "Policies")
    op.click("link", things["policy"])
    op.click("link", "Versions")
    op.click("link", "Roll back to version 1")
    op.click("button", "Roll back to version 1")
    op.see(op.page.get_by_text("as its new version 3"))


def simulate_a_check(op, account, things):
    op.click("link", "Policies")
    op.click("link", things["policy"])
    op.click("link", "Simulator")
    op.fill(op.page.locator("#id_item"), things["item_id"])
    op.fill(op.page.locator("#id_requester"), "org_a")
    op.click("button", "Decide")
    op.see(op.page.get_by_text("Denied: no_license"))


def see_an_accounts_figures(op, account, things):
    op.taken += 1
    op.page.locator(".account-switch summary").click()
    op.click("button", account.name)
    op.click("link", re.compile("^90 days$"))
    op.see(op.page.locator("#usage-total"))


# In this order, and at most so many steps: what this module counted at that revision.
JOBS = [
    (simulate_a_check, 6),
    (find_a_decision, 4),
    (roll_a_policy_back, 5),
    (add_a_rule, 7),
    (archive_an_item, 5),
    (make_a_key, 8),
    (revoke_a_key, 4),
    (issue_a_licence, 8),
    (revoke_a_licence, 4),
    (import_items, 8),
    (see_an_accounts_figures, 3),
]


@pytest.fixture
def things(deployment, account):
    """Objects for the tasks, with unique names, and a second account."""
    deployment.manage("create_account", "Another publisher", "--plan", "starter")
    mark = account.id[-8:]
    with deployment.client(account.key) as api:
        policy = api.post("/v1/policies", json={"name": f"Policy {mark}", "rules": [ALLOW_LICENSED, DENY_ALL]}).json()
        api.patch(f"/v1/policies/{policy['id']}", json={"description": "Changed"})
        item = api.post("/v1/content", json={"title": f"Item {mark}", "policyId": policy["id"]}).json()
        api.post("/v1/licenses", json={"requesterId": "org_b", "licenseType": f"type-{mark}"})
        api.post("/v1/api-keys", json={"name": f"Key {mark}", "type": "secret"})
        check = {"contentId": item["id"], "requester": "org_a"}
        decision = api.post("/v1/access/check", json=check).json()
    named = {"policy": f"Policy {mark}", "item": f"Item {mark}", "licence": f"type-{mark}", "key": f"Key {mark}"}
    return {**named, "item_id": item["id"], "decision": decision["id"]}


def test_no_job_takes_more_steps_than_before(admin, account, things):
    for job, most in JOBS:
        own = "" if job is see_an_accounts_figures else account.id  # others may have made thousands of items
        admin.goto(f"/admin/?account={own}")
        operator = Steps(admin)
        job(operator, account, things)
        assert operator.taken <= most, (job.__name__, operator.taken)
