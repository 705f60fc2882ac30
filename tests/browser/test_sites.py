"""An operator observes a site, sees a crawler's visits, and blocks them."""

import httpx

from tests.browser.conftest import choose, serious_problems

LICENSED = {"action": "allow", "conditions": {"hasValidLicense": True}, "permissions": ["full_access"],
            "pricePerAccess": {"amount": "0.25", "currency": "EUR"}}  # fmt: skip
ASKED = {"X-Forwarded-Proto": "https", "X-Forwarded-Uri": "/premium/a", "X-Forwarded-For": "203.0.113.9",
         "User-Agent": "GPTBot/1.0"}  # fmt: skip


def test_from_a_site_that_only_watches_to_one_that_refuses(admin, deployment, account):
    host = f"site-{account.id[-8:]}.example"
    with deployment.client(account.key) as api:
        policy = api.post("/v1/policies", json={"name": "Licensed", "rules": [LICENSED]}).json()["id"]

        def visit() -> int:
            headers = {**ASKED, "X-Licensing-Key": account.key, "X-Forwarded-Host": host}
            return httpx.get(f"{deployment.url}/v1/access/forward", headers=headers).status_code

        admin.goto("/admin/licensing/site/add/")
        choose(admin, "account", account.name)
        admin.locator("#id_host").fill(host)
        admin.locator("#id_mode").select_option("observe")
        admin.locator("#id_rules").fill(f"/premium/* {policy}")
        admin.get_by_role("button", name="Save", exact=True).click()
        admin.get_by_role("link", name=host).first.wait_for()
        assert [visit() for _ in range(3)] == [200, 200, 200]

        admin.goto("/admin/")
        admin.get_by_role("link", name="Crawlers").first.click()
        admin.wait_for_url("**/visitors/**")
        if admin.locator(".account-switch").count():  # where there is more than one
            admin.locator(".account-switch summary").click()
            admin.get_by_role("button", name=account.name, exact=True).click()
        admin.get_by_role("row", name="GPTBot (unverified)").get_by_text("User-Agent alone").wait_for()
        assert serious_problems(admin) == []
        admin.get_by_role("link", name="3 observed of GPTBot (unverified)").click()
        admin.get_by_text("allowed, observed: no_license").first.wait_for()

        admin.goto("/admin/licensing/site/")
        admin.get_by_role("link", name=host).first.click()
        admin.get_by_role("link", name="Published terms").wait_for()
        assert admin.locator("h1").inner_text().split() == ["Sites", "chevron_right", host]
        cut = "all => all.filter(one => one.scrollWidth > one.clientWidth)"
        assert admin.locator("h1 > *").evaluate_all(cut) == []
        admin.get_by_role("link", name="Published terms").click()
        search = "Search engines pay 0.25 EUR for each access to /premium/* and may read all other pages."
        admin.get_by_text(search).wait_for()
        admin.get_by_text("/.well-known/tdmrep.json").click()
        admin.get_by_text("tdm-reservation").wait_for()
        assert serious_problems(admin) == []
        admin.get_by_role("link", name="Back to the site").click()
        admin.get_by_role("link", name="Enforce").click()
        admin.get_by_text("GPTBot (unverified)").wait_for()
        admin.get_by_text("3 of 3").wait_for()
        assert admin.get_by_text("Revenue at stake").count() == 0  # an unverified crawler cannot pay
        assert serious_problems(admin) == []
        admin.get_by_role("button", name="Enforce it").click()
        admin.get_by_text("are carried out").wait_for()
        assert visit() == 402
