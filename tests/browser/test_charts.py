"""Charts are drawn from their tables in both themes, and can be read by mouse and keyboard."""

from datetime import UTC, datetime

import pytest

from tests.browser.conftest import PHONE, serious_problems

POLICY = {
    "name": "Open to the licensed",
    "rules": [
        {"action": "allow", "priority": 1, "conditions": {"licenseType": "commercial"}, "permissions": ["full_access"]}
    ],
}


@pytest.fixture
def figures(deployment, account):
    """Three allowed decisions and one denied today, and two amounts."""
    with deployment.client(account.key) as api:
        policy = api.post("/v1/policies", json=POLICY).json()["id"]
        item = api.post("/v1/content", json={"title": "Tide table", "policyId": policy}).json()["id"]
        for license_type in ("commercial", "commercial", "commercial", "other"):
            asked = {"id": "org_acme", "licenseType": license_type, "hasValidLicense": True}
            api.post("/v1/access/check", json={"contentId": item, "requester": asked})
        for amount in ("1234.5", "-34.25"):
            api.post("/v1/revenue", json={"amount": amount, "currency": "USD", "description": "Fair"})
    return item


def today():
    return f"{datetime.now(UTC):%Y-%m-%d}"


def pixels(page, colour):
    """Return how many pixels of the first chart have the stylesheet's colour for a kind of bar."""
    return page.evaluate(
        """kind => {
            const plot = document.querySelector(".chart-plot"), canvas = plot.querySelector("canvas");
            const one = document.createElement("canvas").getContext("2d");
            one.fillStyle = getComputedStyle(plot).getPropertyValue(`--${kind}`);
            one.fillRect(0, 0, 1, 1);
            const [r, g, b] = one.getImageData(0, 0, 1, 1).data;
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let count = 0;
            for (let i = 0; i < data.length; i += 4) count += data[i] === r && data[i + 1] === g && data[i + 2] === b;
            return count;
        }""",
        colour,
    )


def test_a_chart_has_a_bar_of_each_colour_in_either_theme(admin, account, figures):
    admin.goto(f"/admin/?account={account.id}&period=7d")
    admin.locator(".bar-chart canvas").first.wait_for()
    assert admin.locator(".chart-legend").first.inner_text().split() == ["Allowed", "Denied"]
    light = pixels(admin, "allowed"), pixels(admin, "denied")
    assert light[0] > 2 * light[1] > 0
    admin.evaluate("document.documentElement.classList.toggle('dark')")
    admin.evaluate("() => new Promise(requestAnimationFrame)")
    assert pixels(admin, "allowed") == pytest.approx(light[0], rel=0.01)


def test_the_pointer_and_the_arrow_keys_tell_the_figures_of_a_day(admin, account, figures):
    admin.goto(f"/admin/?account={account.id}&period=7d")
    chart = admin.get_by_role("slider", name="Decisions by day")
    tip = chart.locator(".chart-tip")
    assert tip.is_hidden()
    box = chart.locator(".u-over").bounding_box()
    admin.mouse.move(box["x"] + box["width"] * 13 / 14, box["y"] + 50)  # the last of seven
    tip.wait_for()
    assert tip.inner_text().split() == [today(), "Allowed", "3", "Denied", "1", "Total", "4"]
    admin.mouse.move(0, 0)
    tip.wait_for(state="hidden")
    chart.press("ArrowLeft")
    tip.wait_for()
    chart.press("ArrowLeft")
    assert chart.get_attribute("aria-valuenow") == "6"
    assert chart.get_attribute("aria-valuetext").endswith("Allowed 0, Denied 0, Total 0")
    chart.press("End")
    assert chart.get_attribute("aria-valuetext") == f"{today()}: Allowed 3, Denied 1, Total 4"
    chart.press("Escape")
    tip.wait_for(state="hidden")
    money = admin.get_by_role("slider", name="Revenue by day")
    money.press("Home")
    money.press("End")
    assert money.get_attribute("aria-valuetext") == f"{today()}: USD 1,200.25"


def test_a_chart_fits_the_window_it_is_in(admin, account, figures):
    admin.goto(f"/admin/?account={account.id}&period=year")
    canvas = admin.locator(".bar-chart canvas").first
    wide = canvas.bounding_box()["width"]
    admin.set_viewport_size(PHONE)
    admin.wait_for_function("before => document.querySelector('.bar-chart canvas').clientWidth < before / 2", arg=wide)
    assert admin.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_charts_of_an_item_and_of_a_requester_can_be_read_by_everybody(admin, account, figures):
    admin.goto(f"/admin/licensing/content/{figures}/change/")
    admin.get_by_role("slider", name="Decisions by day").press("End")
    assert serious_problems(admin) == []
    admin.goto(f"/admin/licensing/requester/?q=org_acme&account__id__exact={account.id}")
    admin.locator("#result_list tbody a").first.click()
    assert admin.get_by_role("slider", name="Decisions by day").get_attribute("aria-valuetext").endswith("Total 4")


def test_without_scripts_the_tables_are_open(open_page, cookies, account, figures):
    address = f"/admin/?account={account.id}&period=7d"
    page = open_page(address, cookies=cookies, java_script_enabled=False)
    table = page.get_by_role("region", name="Decisions by day")
    assert table.locator("tbody tr").last.inner_text().split() == [today(), "3", "1", "4"]
    assert table.is_visible()
