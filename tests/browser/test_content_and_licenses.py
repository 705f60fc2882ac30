"""An operator imports items, licenses one, sees the check's answer change, and archives items in bulk."""

import csv

import httpx
import pytest

from tests.browser.conftest import choose, serious_problems
from tests.factories import ALLOW_LICENSED, DENY_ALL

CSV = b"""externalId,title,type,source
sun,Sunset,image,https://example.com/sun
bad,Moon,sculpture,https://example.com/moon
,Star,image,
sea,The sea,image,not a url
rain,Rain,article,https://example.com/rain
"""


@pytest.fixture
def item(api):
    policy = api.post("/v1/policies", json={"name": "Licensed", "rules": [ALLOW_LICENSED, DENY_ALL]}).json()
    return api.post("/v1/content", json={"title": "The item", "policyId": policy["id"]}).json()


def check(api: httpx.Client, item: dict) -> dict:
    return api.post("/v1/access/check", json={"contentId": item["id"], "requester": "org_browser"}).json()


def bring(page, account, text=CSV):
    page.goto("/admin/licensing/content/")
    page.get_by_role("link", name="Import", exact=True).click()
    choose(page, "account", account.name)
    page.locator("input[type=file]").set_input_files({"name": "items.csv", "mimeType": "text/csv", "buffer": text})
    page.get_by_role("button", name="Show what it would do").click()


def test_a_csv_with_bad_rows_is_shown_imported_and_its_bad_rows_taken_home(admin, account, api):
    bring(admin, account)
    admin.get_by_text("Nothing is written yet.").wait_for()
    assert (admin.locator("#import-created").inner_text(), admin.locator("#import-failed").inner_text()) == ("2", "3")
    admin.get_by_text("line 3: type:").wait_for()
    assert api.get("/v1/content").json()["totalCount"] == 0
    assert serious_problems(admin) == []
    admin.get_by_role("button", name="Import 2 items").click()
    admin.get_by_text("Done, into the account").wait_for()
    assert {item["externalId"] for item in api.get("/v1/content").json()["data"]} == {"sun", "rain"}
    with admin.expect_download() as download:
        admin.get_by_role("link", name="All bad rows as CSV").click()
    rows = csv.reader(download.value.path().read_text().splitlines())
    assert [row[0] for row in rows] == ["line", "3", "4", "5"]


def test_a_licence_issued_turns_a_check_from_denied_to_allowed_and_revoked_back(admin, account, api, item):
    assert check(api, item)["reason"] == "no_license"
    admin.goto("/admin/licensing/license/add/")
    choose(admin, "account", account.name)
    admin.get_by_label("Customer", exact=False).first.fill("org_browser")
    admin.get_by_label("Licence type").fill("commercial")
    admin.get_by_role("button", name="Save and continue").click()
    admin.get_by_role("link", name="Revoke").wait_for()
    assert check(api, item)["allowed"] is True
    admin.get_by_role("link", name="Revoke").click()
    admin.get_by_text("org_browser no longer has it").wait_for()
    admin.get_by_role("button", name="Revoke it").click()
    admin.get_by_text("is revoked").first.wait_for()
    assert check(api, item)["allowed"] is False


def test_any_number_of_items_is_changed_with_progress_and_undone(admin, account, api):
    for chunk in range(4):
        rows = [{"title": f"Item {chunk} {number}"} for number in range(1_000)]
        assert api.post("/v1/content/bulk", json={"items": rows}).status_code == 200
    admin.goto(f"/admin/licensing/content/?account__id__exact={account.id}")
    admin.locator("#action-toggle").check()
    admin.get_by_role("link", name="Select all 4,000").click()
    admin.locator("select[name=action]").select_option("archive")
    admin.get_by_role("button", name="Run").click()
    admin.get_by_role("button", name="Archive 4,000 items").click()
    progress = admin.locator("#bulk-progress")
    progress.or_(admin.get_by_text("4,000 items changed.")).first.wait_for()
    admin.get_by_text("4,000 items changed.").first.wait_for()
    assert api.get("/v1/content?status=archived&limit=1").json()["totalCount"] == 4_000
    undo = admin.get_by_role("link", name="Undo …")
    if undo.count():
        undo.first.click()
    assert serious_problems(admin) == []
    admin.get_by_role("button", name="Undo it").click()
    admin.get_by_text("4,000 items changed back.").wait_for()
    assert api.get("/v1/content?status=active&limit=1").json()["totalCount"] == 4_000


def test_a_decision_is_found_by_its_id(admin, api, item):
    decision = check(api, item)
    admin.goto("/admin/")
    admin.get_by_role("link", name="Decisions").first.click()
    admin.locator("#searchbar").fill(decision["id"])
    admin.locator("#searchbar").press("Enter")
    admin.locator("#result_list tbody a").first.click()
    admin.get_by_role("heading", name="Denied").wait_for()
    admin.get_by_text("There was no valid licence.").wait_for()
    admin.get_by_text("Decides.").wait_for()
    assert serious_problems(admin) == []


def test_items_are_archived_in_bulk_after_a_page_that_counts_them(admin, account, api, item):
    admin.goto(f"/admin/licensing/content/?account__id__exact={account.id}")
    admin.locator("input.action-select").first.check()
    admin.get_by_text("1 of 1 selected").wait_for()
    assert serious_problems(admin) == []
    admin.locator("select[name=action]").select_option("archive")
    admin.get_by_role("button", name="Run").click()
    admin.get_by_role("button", name="Archive 1 item").wait_for()
    assert serious_problems(admin) == []
    assert check(api, item)["reason"] == "no_license"
    admin.get_by_role("button", name="Archive 1 item").click()
    admin.get_by_text("1 item changed.").wait_for()
    assert check(api, item)["reason"] == "content_archived"
