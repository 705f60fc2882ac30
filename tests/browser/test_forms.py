"""Every form on a phone: labels above their fields, and no control wider than the screen."""

from tests.admin.every_page import names_of_pages
from tests.browser.conftest import PHONE

FORMS = sorted(name.removesuffix("_add") for name in names_of_pages() if name.endswith("_add"))

# Controls that overflow, and labels that are not above their field.
STICKING_OUT = """width => {
  const controls = '#content :is(input, select, textarea, button, .select2-container)';
  return [...document.querySelectorAll(controls)].filter(one => {
    const box = one.getBoundingClientRect();
    return one.checkVisibility() && box.width && (box.right > width || box.left < 0);
  }).map(one => one.outerHTML.slice(0, 120));
}"""
BESIDE = """() => {
  const line = one => one.closest('.field-line');
  return [...document.querySelectorAll('#content .field-line label[for]')].filter(label => {
    const field = document.getElementById(label.htmlFor);
    if (!field || field.type === 'checkbox' || !field.checkVisibility() || line(field) !== line(label)) return false;
    return label.getBoundingClientRect().bottom > field.getBoundingClientRect().top + 1;
  }).map(label => label.textContent);
}"""


def test_forms_fit_a_phone_with_labels_above_their_fields(open_page, cookies):
    page = open_page(None, cookies, viewport=PHONE)
    for name in FORMS:
        app, model = name.split("_")
        page.goto(f"/admin/{app}/{model}/add/")
        page.locator("#content form").first.wait_for()
        assert page.evaluate(STICKING_OUT, PHONE["width"]) == [], name
        assert page.evaluate(BESIDE) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], name
