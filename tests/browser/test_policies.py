"""An operator writes a policy in the form, simulates and saves it, sees the difference and rolls back."""

from tests.browser.conftest import PHONE, choose, serious_problems
from tests.browser.policy_editor import add_rule, opened, press, rule


def write_policy(page, account, name):
    """Create a policy for commercial licences, starting from the list of policies."""
    page.goto("/admin/licensing/policy/")
    page.get_by_role("link", name="Add policy").first.click()
    choose(page, "account", account.name)
    page.get_by_label("Name").fill(name)
    first = add_rule(page, "allow", Priority="1", Licence_type="commercial", Grants="full_access")
    first.get_by_label("Valid licence").select_option("yes")
    add_rule(page, "deny").get_by_label("Always").check()
    press(page, "Save")
    page.get_by_text("was added successfully").wait_for()


def open_policy(page, name):
    page.goto("/admin/licensing/policy/")
    page.get_by_role("link", name=name).click()


def test_a_policy_is_written_simulated_saved_compared_and_rolled_back(admin, api, account):
    name = f"Commercial use of {account.name}"
    write_policy(admin, account, name)
    [policy] = api.get("/v1/policies").json()["data"]
    item = api.post("/v1/content", json={"title": "Markets", "externalId": "a-1", "policyId": policy["id"]}).json()
    requester = {"id": "org_a", "name": "Acme", "licenseType": "commercial", "hasValidLicense": True}
    check = {"contentId": item["id"], "requester": requester}
    assert api.post("/v1/access/check", json=check).json()["allowed"] is True

    # Propose enterprise licences; compare with the saved policy and past decisions.
    open_policy(admin, name)
    opened(admin, 0).get_by_label("Licence type").fill("enterprise")
    press(admin, "Simulate this draft")
    admin.get_by_label("Item").fill("a-1")
    admin.get_by_label("Customer").fill("org_a")
    admin.get_by_label("Licence type").fill("commercial")
    admin.get_by_label("Valid licence").select_option("yes")
    press(admin, "Decide")
    assert "Allowed" in admin.get_by_label("Saved (version 1)").inner_text()
    assert "Denied: policy_denied" in admin.get_by_label("Draft").inner_text()
    assert serious_problems(admin) == []
    press(admin, "Replay")
    assert "Acme" in admin.get_by_role("row", name="Acme").inner_text()
    assert serious_problems(admin) == []
    press(admin, "Back to the editor")
    assert rule(admin, 0).get_by_label("Licence type").input_value() == "enterprise"

    press(admin, "Save")
    admin.get_by_text("1 item links to it").wait_for()
    assert serious_problems(admin) == []
    assert api.post("/v1/access/check", json=check).json()["allowed"] is True  # nothing is saved before confirmation
    press(admin, "Yes, save it")
    admin.get_by_text("was changed successfully").wait_for()
    assert api.post("/v1/access/check", json=check).json()["allowed"] is False

    open_policy(admin, name)
    admin.get_by_role("link", name="Versions").click()
    assert "of type commercial and" in admin.locator("del").inner_text()
    assert "of type enterprise and" in admin.locator("ins").first.inner_text()
    assert serious_problems(admin) == []
    admin.get_by_role("link", name="Roll back to version 1").click()
    press(admin, "Roll back to version 1")
    admin.get_by_text("as its new version 3").wait_for()
    assert api.post("/v1/access/check", json=check).json()["allowed"] is True


def test_rules_are_moved_and_removed_by_keyboard_alone(admin):
    admin.goto("/admin/licensing/policy/add/")
    for message in ("one", "two", "three"):
        add_rule(admin, "deny", Message=message)
    rule(admin, 2).get_by_label("Message").focus()
    admin.keyboard.press("Alt+ArrowUp")
    assert admin.evaluate("document.activeElement.value") == "three"
    rule(admin, 0).get_by_role("button", name="Move down").focus()
    admin.keyboard.press("Enter")
    rule(admin, 2).get_by_role("button", name="Remove").focus()
    admin.keyboard.press("Enter")
    messages = [rule(admin, number).get_by_label("Message") for number in range(admin.locator("[data-rule]").count())]
    assert [field.input_value() for field in messages] == ["three", "one"]
    assert [field.get_attribute("name") for field in messages] == ["rules-0-message", "rules-1-message"]
    assert admin.evaluate("document.activeElement.value") == "remove-1"


def test_enter_in_a_field_checks_and_saves_nothing(admin, api, account):
    admin.goto("/admin/licensing/policy/add/")
    choose(admin, "account", account.name)
    admin.get_by_label("Name").fill("By a slip")
    add_rule(admin, "allow", Priority="1").get_by_label("Always").check()
    rule(admin, 0).get_by_label("Priority").press("Enter")
    admin.get_by_text("Allows access without any licence.", exact=True).wait_for()
    assert serious_problems(admin) == []
    assert api.get("/v1/policies").json()["totalCount"] == 0


def test_invalid_values_are_shown_at_their_fields(admin, account):
    admin.goto("/admin/licensing/policy/add/")
    choose(admin, "account", account.name)
    admin.get_by_label("Name").fill("Wrong")
    row = add_rule(admin, "deny")
    row.get_by_text("Further conditions").click()
    row.get_by_label("Address or range").fill("10.0.0.1/8")
    press(admin, "Save")
    field = rule(admin, 0).get_by_label("Address or range")
    assert field.is_visible()
    assert field.get_attribute("aria-invalid") == "true"
    told = admin.locator(f"#{field.get_attribute('aria-describedby')}")
    assert "without host bits" in told.inner_text()
    assert serious_problems(admin) == []


def test_a_policy_can_be_written_on_a_phone(open_page, cookies):
    page = open_page("/admin/licensing/policy/add/", cookies=cookies, viewport=PHONE)
    add_rule(page, "allow", Priority="1").get_by_text("Further conditions").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
