"""Take the screenshots in docs/guides/admin.md from the demo on a dedicated server, as the guide describes."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from tests.browser.conftest import CHROMIUM, DESKTOP, PHONE, sign_in
from tests.faults.harness import deployed

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROW = "#result_list tbody a"
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
# The name, page, theme and window size, and the links to follow from there.
PICTURES = [
    ("overview", "/admin/", "light", DESKTOP, []),
    ("overview-phone", "/admin/", "dark", PHONE, []),
    ("requester", "/admin/licensing/requester/?q=bot_gleaner", "light", DESKTOP, [ROW]),
    ("requester-phone", "/admin/licensing/requester/?q=bot_gleaner", "light", PHONE, [ROW]),
    ("policy", "/admin/licensing/policy/", "light", DESKTOP, [ROW]),
    ("policy-dark", "/admin/licensing/policy/", "dark", DESKTOP, [ROW]),
    ("check-access", "/admin/analytics/accessevent/", "light", DESKTOP, [ROW, "text=Decide this again now"]),
    ("decisions", "/admin/analytics/accessevent/", "dark", DESKTOP, []),
    ("crawlers", "/admin/visitors/", "light", DESKTOP, []),
    ("decision", "/admin/analytics/accessevent/", "light", DESKTOP, [ROW]),
    ("content-phone", "/admin/licensing/content/", "dark", PHONE, []),
    ("licence", "/admin/licensing/license/add/", "light", DESKTOP, []),
    ("ledger", "/admin/analytics/ledgerentry/", "dark", DESKTOP, []),
    ("statements", "/admin/analytics/statement/", "light", DESKTOP, []),
]


def take(page: "Page", name: str, path: str, theme: str, links: list[str]) -> None:
    page.goto(path)
    for link in links:
        page.locator(link).first.click()
        page.wait_for_load_state("networkidle")
    page.evaluate("dark => document.documentElement.classList.toggle('dark', dark)", theme == "dark")
    page.wait_for_timeout(300)  # colours fade
    page.screenshot(path=FOLDER / f"{name}.png")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        deployed(Path(folder)) as deployment,
        sync_playwright() as playwright,
    ):
        deployment.manage("seed_demo")
        operator = deployment.manage("create_operator", "ada", "--superuser")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for size in (DESKTOP, PHONE):
            scale = 0.5 if size is DESKTOP else 0.75  # small: they are looked at in a text
            context = browser.new_context(base_url=deployment.url, viewport=size, device_scale_factor=scale)
            page = context.new_page()
            page.goto("/admin/")
            sign_in(page, operator["username"], operator["password"])
            for name, path, theme, window, links in PICTURES:
                if window is size:
                    take(page, name, path, theme, links)
        browser.close()


if __name__ == "__main__":
    main()
