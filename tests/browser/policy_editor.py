"""The editor of policies in a browser."""


def rule(page, number):
    return page.locator("[data-rule]").nth(number)


def add_rule(page, action, **fields):
    """Add a rule by its button; `fields` maps labels to values."""
    page.get_by_role("button", name="Add a rule").click()
    row = page.locator("[data-rule]").last
    row.get_by_label("Action").select_option(action)
    for label, text in fields.items():
        row.get_by_label(label.replace("_", " ")).fill(text)
    return row


def opened(page, number):
    """Open the rule's form from its sentence."""
    row = rule(page, number)
    if not row.locator("details[data-form]").evaluate("one => one.open"):
        row.locator("summary[data-sentence]").click()
    return row


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_load_state()
