"""A publisher observes a site behind nginx, enforces its policies, and refuses a crawler while people read."""

import os
from pathlib import Path

import httpx
import pytest

from tests.browser.conftest import DESKTOP, PHONE, choose, told_by_axe, with_axe
from tests.faults.proxies.conftest import LICENSEES, NOBODY
from tests.faults.proxies.origin import serving
from tests.faults.proxies.programs import PROXIES, Place, running
from tests.services import free_port

NGINX = PROXIES[0]
PEOPLE = {"action": "allow", "conditions": {"permission": ["read", "search"]}, "permissions": ["read", "search"]}
TRAINING = {
    "action": "allow",
    "conditions": {"permission": "ai_training"},
    "permissions": ["ai_training"],
    "pricePerAccess": {"amount": "0.015", "currency": "USD"},
}
POLICIES = {"/news/*": [PEOPLE, TRAINING], "/members/*": [{**LICENSEES, "priority": 1}, NOBODY]}
TEXTS = {"name": "The Daily", "link_url": "https://pub.example/subscribe", "link_label": "Subscribe"}


@pytest.fixture
def front(tmp_path: Path) -> Path:
    if NGINX.program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("nginx is not installed.")
    return tmp_path


def test_from_a_new_site_to_a_crawler_that_is_refused(admin, chromium, deployment, account, front):
    host = f"site-{account.id[-8:]}.localhost"  # browsers look for such names on their own machine
    with deployment.client(account.key) as api:
        policies = {
            pattern: api.post("/v1/policies", json={"name": pattern, "rules": rules}).json()["id"]
            for pattern, rules in POLICIES.items()
        }
        wanted = {"name": "nginx", "type": "secret", "permissions": ["access:check"], "allowedHosts": [host]}
        key = api.post("/v1/api-keys", json=wanted).json()["key"]

    admin.goto("/admin/licensing/site/add/")
    choose(admin, "account", account.name)
    admin.locator("#id_host").fill(host)
    admin.locator("#id_mode").select_option("observe")
    admin.locator("#id_rules").fill("\n".join(f"{pattern} {policy}" for pattern, policy in policies.items()))
    for field, text in TEXTS.items():
        admin.locator(f"#id_{field}").fill(text)
    admin.get_by_role("button", name="Save", exact=True).click()
    admin.get_by_role("link", name=host).first.click()
    admin.get_by_role("link", name="Proxy files").wait_for()
    cut_off = "all => all.filter(one => one.scrollWidth > one.clientWidth)"
    assert admin.locator("h1 > *").evaluate_all(cut_off) == []
    admin.get_by_role("link", name="Proxy files").click()
    with admin.expect_download() as started:
        admin.get_by_role("link", name="Download nginx.conf").click()
    assert started.value.suggested_filename == "nginx.conf"
    file = Path(started.value.path()).read_text()

    with serving() as origin:
        at = Place(key, deployment.port, origin, free_port(), front, generated=file, host=host)
        with running(NGINX, at):

            def crawl(path: str) -> httpx.Response:
                headers = {"Host": host, "User-Agent": "GPTBot/1.3"}
                return httpx.get(f"http://127.0.0.1:{at.port}{path}", headers=headers)

            assert [crawl(path).status_code for path in ("/news/a", "/members/a")] == [200, 200]
            admin.get_by_role("link", name="Back to the site").click()
            admin.get_by_role("link", name="Enforce").click()
            admin.get_by_text("GPTBot (unverified)").wait_for()
            admin.get_by_role("button", name="Enforce it").click()
            admin.get_by_text("are carried out").wait_for()

            refused = crawl("/news/a")
            assert (refused.status_code, refused.headers["crawler-price"]) == (402, "USD 0.015")
            assert refused.json()["error"]["code"] == "no_license"
            context = chromium.new_context(base_url=f"http://{host}:{at.port}", viewport=DESKTOP)
            person = context.new_page()
            assert person.goto("/news/a").status == 200
            person.get_by_text("of the origin").wait_for()
            assert person.goto("/members/a").status == 402
            person.get_by_role("heading", name="The Daily").wait_for()
            person.get_by_text("Not for you.").wait_for()
            link = person.get_by_role("link", name="Subscribe")
            assert link.get_attribute("href") == TEXTS["link_url"]
            with_axe(person)
            for scheme in ("light", "dark"):
                for size in (DESKTOP, PHONE):
                    person.emulate_media(color_scheme=scheme)
                    person.set_viewport_size(size)
                    assert told_by_axe(person, {}) == []
                    assert person.evaluate("document.documentElement.scrollWidth") <= size["width"]
            context.close()
