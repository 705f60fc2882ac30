"""The rule editor: sentences that open into forms, reordering by drag and keys, templates, and saving."""

import re

from tests.browser.conftest import choose, serious_problems
from tests.browser.policy_editor import add_rule, opened, press, rule
from tests.faults.harness import eventually

ADD = "/admin/licensing/policy/add/"


def begin(page, template):
    page.get_by_role("button", name=re.compile(f"^{template}")).click()
    page.wait_for_url(f"**{ADD}#rules")
    page.wait_for_load_state()


def sentences(page):
    return [text.strip() for text in page.locator("[data-rule] summary[data-sentence]").all_inner_texts()]


def test_a_rule_is_a_sentence_that_follows_its_form_and_says_why_it_is_never_reached(admin):
    admin.goto(ADD)
    row = add_rule(admin, "allow", Licence_type="press", Grants="full_access")
    row.get_by_label("Valid licence").select_option("yes")
    admin.get_by_text("Allow if the licence is of type press and the licence is valid.").wait_for()
    add_rule(admin, "deny").get_by_label("Always").check()
    rule(admin, 1).get_by_text("Deny always.").wait_for()
    assert serious_problems(admin) == []
    rule(admin, 1).get_by_label("Message").focus()
    admin.keyboard.press("Alt+ArrowUp")
    rule(admin, 1).get_by_text("Is never reached: rule 1 is tried before it").wait_for()
    assert serious_problems(admin) == []


def test_a_rule_is_duplicated_with_what_was_typed(admin):
    admin.goto(ADD)
    row = add_rule(admin, "allow", Priority="7", Licence_type="press", Message="Welcome")
    row.get_by_label("Valid licence").select_option("yes")
    row.get_by_role("button", name="Duplicate").click()
    copy = rule(admin, 1)
    assert copy.get_by_label("Licence type").input_value() == "press"
    assert copy.get_by_label("Valid licence").input_value() == "yes"
    assert copy.get_by_label("Priority").input_value() == ""
    assert copy.get_by_label("Message").get_attribute("name") == "rules-1-message"


def test_a_rule_is_dragged_to_its_place(admin):
    admin.goto(ADD)
    begin(admin, "Metered preview")
    before = sentences(admin)
    assert len(before) == 3
    rule(admin, 2).locator("[data-handle]").drag_to(rule(admin, 0), target_position={"x": 20, "y": 2})
    assert sentences(admin) == [before[2], before[0], before[1]]
    press(admin, "Check without saving")
    assert sentences(admin) == [before[2], before[0], before[1]]


def test_unsaved_work_survives_and_is_offered_until_it_is_saved(admin, account):
    admin.goto(ADD)
    admin.get_by_label("Name").fill("Half a day's work")
    begin(admin, "Paywall")
    opened(admin, 1).get_by_label("Message").fill("Write to sales.")
    kept = f"sessionStorage.getItem('unsaved:{ADD}')"
    eventually(lambda: "Write to sales." in (admin.evaluate(kept) or ""))
    admin.on("dialog", lambda dialog: dialog.accept())
    admin.goto("/admin/licensing/policy/")
    admin.goto(ADD)
    admin.get_by_role("button", name="Bring it back").wait_for()
    assert serious_problems(admin) == []
    press(admin, "Bring it back")
    admin.get_by_text("Deny always").wait_for()
    assert admin.get_by_label("Name").input_value() == "Half a day's work"
    assert opened(admin, 1).get_by_label("Message").input_value() == "Write to sales."
    choose(admin, "account", account.name)
    press(admin, "Save")
    admin.get_by_text("was added successfully").wait_for()
    admin.goto(ADD)
    admin.get_by_role("button", name="Paywall").wait_for()
    assert admin.get_by_role("button", name="Bring it back").count() == 0


def test_a_new_policy_is_simulated_before_it_is_saved(admin, api, account):
    other = api.post("/v1/policies", json={"name": "Now", "defaultAction": "allow"}).json()
    item = api.post("/v1/content", json={"title": "Markets", "externalId": "a-1", "policyId": other["id"]}).json()
    api.post("/v1/access/check", json={"contentId": item["id"], "requester": "org_a"})
    admin.goto(ADD)
    choose(admin, "account", account.name)
    admin.get_by_label("Name").fill("Later")
    begin(admin, "Paywall")
    press(admin, "Simulate this draft")
    admin.get_by_label("In the place of").select_option("Now")
    press(admin, "Replay")
    admin.get_by_text("1 decision from").wait_for()
    assert serious_problems(admin) == []
    press(admin, "Back to the editor")
    assert admin.get_by_label("Name").input_value() == "Later"
