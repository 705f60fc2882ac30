"""A dedicated server, Debian's Chromium, and a page with a signed-in operator.

Without Playwright or Chromium these tests are skipped, and the reason names what is missing; with CI or
REQUIRE_BROWSER set they fail. Script errors and CSP violations in the console fail a test too.
"""

import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.harness import Deployment, deployed

try:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright
except ImportError:
    sync_playwright = None

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
REQUIRED = bool(os.environ.get("CI") or os.environ.get("REQUIRE_BROWSER"))
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

# Chromium preloads two address bar pages, which take as long as a page of the admin. Only the last switch of this kind
# counts, so Playwright's own are included.
NOT_WANTED = (
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess",
    "AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay",
    "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)  # fmt: skip
ARGUMENTS = ["--no-sandbox", f"--disable-features={','.join(NOT_WANTED)}"]

# Rules of axe-core. Those of colours take most of its time, so each theme and each size is measured once.
OF_COLOURS = ["color-contrast", "link-in-text-block"]
EVERYTHING: dict[str, Any] = {}
COLOURS = {"runOnly": OF_COLOURS}
ALL_BUT_COLOURS = {"rules": {name: {"enabled": False} for name in OF_COLOURS}}
LOOKS: list[tuple[str, dict[str, int], dict[str, Any]]] = [
    ("light", DESKTOP, EVERYTHING),
    ("light", PHONE, ALL_BUT_COLOURS),
    ("dark", PHONE, COLOURS),
]


def missing() -> str:
    """Return what is missing to run a browser; empty if nothing."""
    if sync_playwright is None:
        return "Playwright is not installed: `python3 run.py setup --dev` does that"
    return "" if CHROMIUM else "there is no Chromium: `apt-get install chromium`, or set CHROMIUM to its path"


@pytest.fixture(scope="package")
def chromium() -> Iterator["Browser"]:
    if reason := missing():
        (pytest.fail if REQUIRED else pytest.skip)(f"No browser test ran: {reason}.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def deployment(chromium: "Browser", docs_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    # Webhooks go to a test receiver, and are not retried automatically.
    webhooks = {"WEBHOOKS_ALLOW_PRIVATE": "on", "WEBHOOK_RETRY_SCHEDULE": "0"}
    with deployed(tmp_path_factory.mktemp("browser"), DOCS_SITE=str(docs_site), **webhooks) as deployment:
        yield deployment


@dataclass(frozen=True)
class Account:
    """An account of the deployment, and a key with all permissions."""

    id: str
    name: str
    key: str


@pytest.fixture
def account(deployment: Deployment) -> Account:
    limits = ("--plan", "enterprise", "--requests-per-minute", "100000", "--requests-per-day", "1000000")
    name = f"Publisher {os.urandom(3).hex()}"
    made = deployment.manage("create_account", name, *limits)
    key = deployment.manage("create_api_key", "--account", made["id"], "--name", "Test", "--type", "secret")
    return Account(made["id"], name, key["key"])


@pytest.fixture
def api(deployment: Deployment, account: Account) -> Iterator[httpx.Client]:
    with deployment.client(account.key) as client:
        yield client


@dataclass(frozen=True)
class Operator:
    username: str
    password: str


@pytest.fixture(scope="package")
def operator(deployment: Deployment) -> Operator:
    """A superuser."""
    made = deployment.manage("create_operator", "operator", "--superuser")
    return Operator(made["username"], made["password"])


@pytest.fixture(scope="package")
def demo(deployment: Deployment, operator: Operator) -> dict[str, Any]:
    """The demo with the resources it lacks, long names, and policies of two versions."""
    made = deployment.manage("seed_demo", "--beside", "--days", "40")
    deployment.manage("create_operator", "a-colleague-with-a-rather-long-name", "--role", "viewer", "--all-accounts")
    with deployment.client(made["key"]) as api:
        for policy in api.get("/v1/policies").json()["data"]:
            api.patch(f"/v1/policies/{policy['id']}", json={"description": "Changed"})
        rules = [{"pattern": "/premium/*", "policyId": policy["id"]}]
        title = "A title that is far too long for one line of a small screen, and goes on after that"
        further: dict[str, dict[str, Any]] = {
            "/v1/sites": {"host": "pub.example", "mode": "observe", "rules": rules},
            "/v1/webhooks": {"url": "https://hooks.example/a-rather-long-path-to-what-hears-of-all-that-happens/in"},
            "/v1/license-clients": {"requesterId": "org_fenwick"},
            "/v1/content": {"title": title, "externalId": "long"},
        }
        for path, body in further.items():
            assert api.post(path, json=body).status_code == 201
        add_prepaid(api, "org_fenwick")
    return made


class Contexts:
    """A pool of browser contexts that keep the site's files cached, because loading takes longer than a page.

    Cookies and stored data are cleared between tests.
    """

    def __init__(self, chromium: "Browser", url: str) -> None:
        self.chromium, self.url = chromium, url
        self.free: dict[str, list[BrowserContext]] = defaultdict(list)
        self.taken: list[tuple[str, BrowserContext]] = []

    def new(self, **options: Any) -> "BrowserContext":
        return self.chromium.new_context(base_url=self.url, **{"viewport": DESKTOP, **options})

    def take(self, cookies: list[Any], **options: Any) -> "BrowserContext":
        kind = repr(sorted(options.items()))
        context = self.free[kind].pop() if self.free[kind] else self.new(**options)
        self.taken.append((kind, context))
        context.add_cookies(cookies)
        return context

    def give_back(self) -> None:
        for kind, context in self.taken:
            for page in context.pages:
                stored = {"origin": self.url, "storageTypes": "local_storage"}
                context.new_cdp_session(page).send("Storage.clearDataForOrigin", stored)
                page.close()
            context.clear_cookies()
            self.free[kind].append(context)
        self.taken.clear()


@pytest.fixture(scope="package")
def contexts(chromium: "Browser", deployment: Deployment) -> Contexts:
    return Contexts(chromium, deployment.url)


@pytest.fixture
def open_page(contexts: Contexts) -> Iterator[Callable[..., "Page"]]:
    """Open a page of the deployment, with a session's cookies or in a fresh browser.

    Options are those of Playwright's new_context.
    """
    used, complaints = [], []

    def note(message: "ConsoleMessage") -> None:
        if message.type == "error":
            complaints.append(f"{message.text} {message.location['url']}")

    def open_one(path: str | None = "/admin/", cookies: list[Any] | None = None, **options: object) -> "Page":
        context = contexts.take(cookies, **options) if cookies else contexts.new(**options)
        if not cookies:
            used.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        if path is not None:
            page.goto(path)
        return page

    yield open_one
    contexts.give_back()
    for context in used:
        context.close()
    assert complaints == []


def add_prepaid(api: httpx.Client, requester: str) -> None:
    """Give the requester a quota of accesses, a wallet with money, and a payment."""
    refill = {"amount": 5000, "every": "month"}
    quota = {"requesterId": requester, "unit": "access", "refill": refill}
    assert api.post("/v1/wallets", json=quota).status_code == 201
    wallet = api.post("/v1/wallets", json={"requesterId": requester, "unit": "EUR"})
    assert wallet.status_code == 201
    grants = f"/v1/wallets/{wallet.json()['id']}/grants"
    assert api.post(grants, json={"amount": "12500.50"}).status_code == 201
    payment = {"requesterId": requester, "amount": "12500.50", "currency": "EUR", "externalId": "transfer-2026-0042"}
    assert api.post("/v1/payments", json=payment).status_code == 201


def sign_in(page: "Page", username: str, password: str) -> None:
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/admin/")


def choose(page: "Page", field: str, text: str) -> None:
    """Pick the option of that text in a search field (`autocomplete_fields`)."""
    page.locator(f"#id_{field} + .select2 .select2-selection").click()
    page.locator("input.select2-search__field").fill(text)
    page.locator(".select2-results__option", has_text=text).click()


def serious_problems(page: "Page") -> list[str]:
    """Return accessibility problems found by axe-core, and elements wider than the screen.

    Checks desktop and phone sizes, in the light and dark themes (which differ only in colours).
    """
    problems = []
    page.wait_for_load_state()  # a page that has just been asked for has no elements yet
    size_before = page.viewport_size
    was_dark = page.evaluate("document.documentElement.classList.contains('dark')")
    with_axe(page)
    for theme, size, rules in LOOKS:
        page.evaluate("dark => document.documentElement.classList.toggle('dark', dark)", theme == "dark")
        page.set_viewport_size(size)
        where = f"{theme}, {size['width']}"
        problems += [f"{where}: {told}" for told in told_by_axe(page, rules)]
        width = page.evaluate("document.documentElement.scrollWidth")
        problems += [f"{where}: {width} wide"] if width > size["width"] else []
    page.evaluate("dark => document.documentElement.classList.toggle('dark', dark)", was_dark)
    page.set_viewport_size(size_before)
    return problems


# As a stylesheet made by a script, which a content security policy does not stop.
WITHOUT_TRANSITIONS = """
    const still = new CSSStyleSheet();
    still.replaceSync("*, *::before, *::after { transition: none !important }");
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, still];
"""


def with_axe(page: "Page") -> None:
    page.evaluate(Axe().axe_script)
    page.evaluate(f"() => {{{WITHOUT_TRANSITIONS}}}")  # a late one would change the colours that axe measures


def told_by_axe(page: "Page", rules: dict[str, Any]) -> list[str]:
    # Colours are measured wrongly during a transition.
    page.evaluate(
        "document.getAnimations().forEach(one => one.effect.getTiming().iterations < Infinity && one.finish())"
    )
    # Its preload fetches every stylesheet anew, for rules about media that no page has.
    options = {"resultTypes": ["violations"], "preload": False, **rules}
    found = page.evaluate("options => axe.run(document, options).then(found => found.violations)", options)
    return [
        f"{rule['id']}: {node['html'][:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


@pytest.fixture
def cookies(deployment: Deployment, operator: Operator) -> list[dict[str, str]]:
    """Return the cookies of a new session of the operator, with no account chosen."""
    return [{"url": f"{deployment.url}/admin/", **deployment.ask_shell("session", operator.username)}]


@pytest.fixture
def admin(open_page: Callable[..., "Page"], cookies: list[dict[str, str]]) -> "Page":
    """A blank page with a superuser signed in."""
    return open_page(None, cookies)
