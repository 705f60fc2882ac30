"""The documentation site in a browser: search, dark mode, phone. Any CSP violation fails the test."""

import pytest

from tests.browser.conftest import PHONE
from tests.faults.harness import eventually


def test_search_leads_to_a_page(open_page):
    page = open_page("/docs/")
    search = page.locator("dialog[aria-label=Search] input")
    # The search loads after the page.
    assert eventually(lambda: page.keyboard.press("Control+k") or search.is_visible())
    search.fill("idempotency")
    page.locator("dialog[aria-label=Search] a", has_text="Idempotency").first.click()
    page.wait_for_url("**/docs/**#idempotency*")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system(open_page, scheme):
    page = open_page("/docs/reference/errors/", color_scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = page.evaluate(
        """colour => {
          const context = document.createElement("canvas").getContext("2d");
          context.fillStyle = colour;
          context.fillRect(0, 0, 1, 1);
          return context.getImageData(0, 0, 1, 1).data[0];
        }""",
        ground,
    )
    assert (lightness > 128) is (scheme == "light")


def test_a_page_is_no_wider_than_a_phone(open_page):
    for path in ("start/quickstart/", "reference/errors/", "guides/deployment/"):
        page = open_page(f"/docs/{path}", viewport=PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
