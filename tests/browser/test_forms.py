"""Every form on a phone: labels above their fields, and no control wider than the screen."""

import pytest

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


@pytest.mark.parametrize("name", FORMS)
def test_a_form_fits_a_phone_with_labels_above_its_fields(open_page, cookies, name):
    app, model = name.split("_")
    page = open_page(f"/admin/{app}/{model}/add/", cookies, viewport=PHONE)
    page.locator("#content form").first.wait_for()
    assert page.evaluate(STICKING_OUT, PHONE["width"]) == []
    assert page.evaluate(BESIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
