"""axe-core finds no serious problem on any admin page, on desktop and phone, in either theme."""

from urllib.parse import urljoin, urlsplit
from zlib import crc32

from django.urls import resolve

from tests.admin.every_page import NO_PAGES, names_of_pages
from tests.browser.conftest import serious_problems

START = ["/admin/?account=", "/admin/accounts/", "/admin/password_change/done/"]  # no link leads to the last two
# The login is below; the other asks as accounts_account_suspend does, of an account that is suspended.
NOT_ON_THE_WAY = NO_PAGES | {"login", "accounts_account_resume"}


def links_of(page):
    """Return the addresses of the page's links within the admin."""
    found = page.eval_on_selector_all("a[href]", "links => links.map(link => link.getAttribute('href'))")
    parts = [urlsplit(urljoin(page.url, link)) for link in found]
    return [f"{one.path}?{one.query}" for one in parts if one.path.startswith("/admin/")]


def name_of(address):
    return resolve(urlsplit(address).path).url_name


def is_measured(name, sample):
    """Return whether axe-core measures this page: all in the whole run, half of them in a sample of the gate."""
    return sample is None or (crc32(name.encode()) + sample // 12) % 2 == 0


def test_every_page_that_the_site_has_can_be_read_and_worked_by_everybody(open_page, cookies, demo, request):
    """Follows all links: each view once, and other objects' pages only while a view has not been visited."""
    page, sample = open_page(None, cookies), request.config.option.sample
    views = names_of_pages() - NOT_ON_THE_WAY
    problems, seen, found = {}, set(), {name_of(one) for one in START}
    waiting, others, paths = [*START], [], set()
    while waiting or (others and views - seen):
        address = waiting.pop(0) if waiting else others.pop(0)
        assert page.goto(address).status == 200, address
        shown = name_of(page.url)
        is_new = shown not in seen  # it may have redirected
        seen |= {name_of(address), shown}
        if is_new and is_measured(shown, sample) and (serious := serious_problems(page)):
            problems[address] = serious
        for link in links_of(page):
            name, path = name_of(link), urlsplit(link).path
            if name not in found | seen | NOT_ON_THE_WAY:
                waiting.append(link)
            elif name not in NOT_ON_THE_WAY and path not in paths:
                others.append(link)
            found.add(name)
            paths.add(path)
    assert problems == {}
    assert views - seen == set()


def test_so_can_the_login(open_page):
    assert serious_problems(open_page("/admin/")) == []


def test_so_can_an_error(open_page, cookies):
    page = open_page(None, cookies)
    # The browser would report a 404 as an error.
    page.route("**/nowhere/", lambda route: route.fulfill(response=route.fetch(), status=200))
    page.goto("/admin/nowhere/")
    page.get_by_text("It may have been deleted").wait_for()
    assert serious_problems(page) == []


def test_the_menu_is_hidden_and_shown_by_keyboard(admin):
    admin.goto("/admin/")
    menu = admin.locator("#nav-sidebar-apps")
    for shown in (False, True):
        admin.get_by_role("button", name="Menu").first.press("Enter")
        menu.wait_for(state="visible" if shown else "hidden")
