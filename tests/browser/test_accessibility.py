"""axe-core finds nothing serious on any page of the admin, on a desk and on a phone, in either theme."""

from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib import admin as django_admin
from django.urls import resolve

from tests.browser.conftest import serious_problems

START = ["/admin/?account=", "/admin/accounts/", "/admin/password_change/done/"]  # to the last two no link leads
NO_PAGES = {
    *("jsi18n", "autocomplete", "search", "view_on_site", "logout"),  # data, and what only redirects
    *(f"{model}_export_items" for model in ("licensing_content", "analytics_accessevent", "analytics_ledgerentry")),
    *(f"licensing_{one}_issue_license" for one in ("requester", "content")),  # which lead to forms, filled in
    *(f"licensing_{one}_check_access" for one in ("requester", "content")),
    *("licensing_license_renew", "licensing_license_duplicate"),
    *("licensing_policy_words", "licensing_policy_draft"),  # of a form that was never saved: with that job
    "analytics_accessevent_again",  # which leads to check_access
    "suggest",
    "licensing_license_preview",
    "switch_account",  # data
    *(f"{model}_refund" for model in ("licensing_license", "analytics_accessevent", "analytics_ledgerentry")),
    *(f"analytics_statement_export_{what}" for what in ("items", "lines")),
    *("licensing_content_import", "licensing_content_bad_rows"),  # of a file that somebody brought: with that job
    "licensing_content_bulk",  # of a change that is under way: with that job
    "accounts_apikey_seen",  # called by a script
    "accounts_account_resume",  # asks as accounts_account_suspend does, of an account that is suspended
    "login",  # below
}
WRITTEN_BY_NOBODY = ("accounts_auditentry", "analytics_accessevent", "analytics_statement", "licensing_requester")
REFUSED = {f"{model}_{page}" for model in WRITTEN_BY_NOBODY for page in ("add", "history")}


def names_of_pages():
    """Of all views that the site has; but roles nothing is deleted by Django's own."""
    patterns = django_admin.site.get_urls()
    nested = [one for pattern in patterns for one in getattr(pattern, "url_patterns", [])]
    names = {pattern.name for pattern in [*patterns, *nested] if getattr(pattern, "name", None)}
    deletions = {name for name in names if name.endswith("_delete") and name != "auth_group_delete"}
    return names - NO_PAGES - REFUSED - deletions


def links_of(page):
    """Addresses within the admin that the page leads to."""
    found = page.eval_on_selector_all("a[href]", "links => links.map(link => link.getAttribute('href'))")
    parts = [urlsplit(urljoin(page.url, link)) for link in found]
    return [f"{one.path}?{one.query}" for one in parts if one.path.startswith("/admin/")]


def name_of(address):
    return resolve(urlsplit(address).path).url_name


@pytest.fixture(scope="package")
def demo(deployment, signed_in_state):
    """An account with something of everything, and policies of two versions."""
    made = deployment.manage("seed_demo", "--beside", "--days", "40")
    with deployment.client(made["key"]) as api:
        for policy in api.get("/v1/policies").json()["data"]:
            api.patch(f"/v1/policies/{policy['id']}", json={"description": "Changed"})
        site = {
            "host": "pub.example",
            "mode": "observe",
            "rules": [{"pattern": "/premium/*", "policyId": policy["id"]}],
        }
        assert api.post("/v1/sites", json=site).status_code == 201
        assert api.post("/v1/webhooks", json={"url": "https://hooks.example/in"}).status_code == 201
        assert api.post("/v1/license-clients", json={"requesterId": "org_acme"}).status_code == 201
    return made


def test_every_page_that_the_site_has_can_be_read_and_worked_by_everybody(open_page, signed_in_state, demo):
    """By all links, each page once, until every view of the site has been seen."""
    page = open_page("/admin/", storage_state=signed_in_state)
    problems, seen, waiting = {}, set(), [*START]
    while waiting:
        address = waiting.pop(0)
        name = name_of(address)
        if name in seen or name in NO_PAGES:
            continue
        assert page.goto(address).status == 200, address
        looked_at = name_of(page.url) in seen  # it has redirected
        seen |= {name, name_of(page.url)}
        if not looked_at and (found := serious_problems(page)):
            problems[address] = found
        waiting += links_of(page)
    assert problems == {}
    assert names_of_pages() - seen == set()


def test_so_can_the_login(open_page):
    assert serious_problems(open_page("/admin/")) == []


def test_so_can_an_error(open_page, signed_in_state):
    page = open_page("/admin/", storage_state=signed_in_state)
    # The browser would log a page that was not there as an error of its own.
    page.route("**/nowhere/", lambda route: route.fulfill(response=route.fetch(), status=200))
    page.goto("/admin/nowhere/")
    page.get_by_text("It may have been deleted").wait_for()
    assert serious_problems(page) == []


def test_the_menu_is_hidden_and_shown_by_keyboard(admin):
    menu = admin.locator("#nav-sidebar-apps")
    for shown in (False, True):
        admin.get_by_role("button", name="Menu").first.press("Enter")
        menu.wait_for(state="visible" if shown else "hidden")
