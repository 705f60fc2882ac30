"""Counts what an operator does."""


class Steps:
    """An operator on a page, whose steps are counted."""

    def __init__(self, page):
        self.page, self.taken = page, 0

    def click(self, role, name):
        self.taken += 1
        self.page.get_by_role(role, name=name).first.click()
        self.page.wait_for_load_state()

    def open(self, rule):
        self.taken += 1
        self.page.locator("[data-rule]").nth(rule).locator("summary[data-sentence]").click()

    def fill(self, field, text):
        self.taken += 1
        field.fill(text)

    def select(self, label, option):
        self.taken += 1
        self.page.get_by_label(label).select_option(option)

    def click_in(self, area, text):
        self.taken += 1
        self.page.locator(area).get_by_role("link", name=text).first.click()
        self.page.wait_for_load_state()

    def tick(self, label):
        self.taken += 1
        self.page.get_by_label(label).check()

    def see(self, locator):
        """Wait for the task's result; not a step."""
        locator.first.wait_for()

    def press(self, key):
        self.taken += 1
        self.page.keyboard.press(key)
        self.page.wait_for_load_state()

    def choose(self, field, text):
        """Open the field, type, and pick the result: three steps."""
        self.taken += 3
        self.page.locator(f"#id_{field} + .select2 .select2-selection").click()
        self.page.locator("input.select2-search__field").fill(text)
        self.page.locator(".select2-results__option", has_text=text).click()
