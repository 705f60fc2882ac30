"""Ctrl+K finds an object by name, and Enter opens it."""


def test_an_item_is_opened_by_the_keyboard_alone(admin, deployment, account):
    with deployment.client(account.key) as api:
        item = api.post("/v1/content", json={"title": "Zanzibar tides", "externalId": f"z-{account.id}"}).json()
    admin.goto("/admin/")
    admin.keyboard.press("Control+k")
    admin.get_by_label("Find anything").press_sequentially(f"z-{account.id}")
    admin.locator("#command-results-list li a", has_text="Zanzibar tides").wait_for()
    admin.keyboard.press("Enter")
    admin.wait_for_url("**/admin/licensing/content/*/change/")
    assert item["id"].removeprefix("cnt_") in admin.url
