"""An operator imports items, and archives items in bulk."""

import csv

from tests.browser.conftest import choose, serious_problems

CSV = b"""externalId,title,type,source
sun,Sunset,image,https://example.com/sun
bad,Moon,sculpture,https://example.com/moon
,Star,image,
sea,The sea,image,not a url
rain,Rain,article,https://example.com/rain
"""


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


def test_any_number_of_items_is_changed_with_progress_and_undone(admin, account, api):
    for chunk in range(4):
        rows = [{"title": f"Item {chunk} {number}"} for number in range(1_000)]
        assert api.post("/v1/content/bulk", json={"items": rows}).status_code == 200
    admin.goto(f"/admin/licensing/content/?account__id__exact={account.id}")
    admin.locator("#action-toggle").check()
    admin.get_by_role("link", name="Select all 4,000").click()
    assert serious_problems(admin) == []
    admin.locator("select[name=action]").select_option("archive")
    admin.get_by_role("button", name="Run").click()
    admin.get_by_role("button", name="Archive 4,000 items").wait_for()
    assert serious_problems(admin) == []
    assert api.get("/v1/content?status=active&limit=1").json()["totalCount"] == 4_000
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
