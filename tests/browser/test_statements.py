"""A printed statement has its own page, nothing cut off, and the heads on every sheet."""

import re

from tests.browser.conftest import serious_problems

A4 = {"width": 680, "height": 980}  # CSS pixels within the margins


def test_a_statement_is_printed_from_its_page(admin, account, api):
    terms = {"licenseType": "commercial", "price": {"amount": "1234.5", "currency": "EUR"}}
    api.post("/v1/licenses", json={"requesterId": "org_acme", "requesterName": "Acme", **terms})
    for number in range(70):
        reason = f"Refund number {number} of what was booked twice in the import of last month, as agreed"
        entry = {"requesterId": "org_acme", "amount": "-1", "currency": "EUR", "description": reason}
        assert api.post("/v1/revenue", json=entry).status_code == 201
    admin.goto(f"/admin/analytics/statement/?account__id__exact={account.id}")
    admin.locator("#result_list tbody a").first.click()
    admin.get_by_role("link", name="Print").click()
    admin.get_by_role("heading", name=re.compile("^Statement for ")).wait_for()
    assert serious_problems(admin) == []
    assert admin.locator("tr", has_text="Closing balance").inner_text().split()[-2:] == ["1,164.50", "EUR"]

    admin.emulate_media(media="print")
    admin.set_viewport_size(A4)
    assert not admin.get_by_role("link", name="Back to the admin").is_visible()
    assert admin.evaluate("document.documentElement.scrollWidth") <= A4["width"]
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert admin.locator("td, dd").evaluate_all(wide) == 0
    assert "EUR, Acme (org_acme)" in admin.title()
    for head in (".statement-running-head", ".statement-scroll thead"):
        display = admin.locator(head).evaluate("one => getComputedStyle(one).display")
        assert display == "table-header-group"  # repeated on every sheet
    sheets = len(re.findall(rb"/Type\s*/Page\b(?!s)", admin.pdf(format="A4")))
    assert 2 <= sheets <= 5
