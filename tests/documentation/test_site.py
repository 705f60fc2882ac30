import os
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import orjson
import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import resolve

from config.documentation import build as building
from config.documentation.build import build, sources
from run import ROOT

INDEX = "/docs/"
CLICKS = 2  # to any page from the first
PRECOMPRESSED = {"br", "gzip"}


class Page(HTMLParser):
    """Return a page's links, resources and anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.styled: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon"):
            self.loads.append(given["href"])
        elif "src" in given:
            self.loads.append(given["src"])
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if "style" in given or tag == "style" or any(name.startswith("on") for name in given):
            self.styled.append(self.get_starttag_text() or tag)


@pytest.fixture(scope="module")
def pages(docs_site: Path) -> dict[str, Page]:
    """The site's pages by address."""
    return {
        INDEX + str(path.parent.relative_to(docs_site) / "_").removesuffix("_").removeprefix("./"): Page(
            path.read_text()
        )
        for path in docs_site.rglob("index.html")
    }


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch, docs_site: Path) -> Client:
    monkeypatch.setattr(settings, "DOCS_SITE", docs_site)
    return Client()


def internal(address: str, page: Page) -> Iterator[tuple[str, str]]:
    """Yield address and anchor of each link within this host."""
    for link in page.links:
        parts = urlsplit(urljoin(f"//host{address}", link))
        if parts.netloc == "host" and parts.scheme in ("", "http", "https"):
            yield unquote(parts.path), parts.fragment


def test_every_markdown_file_is_a_page_without_inline_styles_or_handlers(pages: dict[str, Page]):
    docs = ROOT / "docs"
    files = {str(path.relative_to(docs).with_suffix("")) for path in docs.rglob("*.md")}
    expected = {INDEX + re.sub(r"(^|(?<=/))README$", "", f"{one}") for one in files}
    assert {one if one.endswith("/") else f"{one}/" for one in expected} <= pages.keys()
    assert {address: page.styled for address, page in pages.items() if page.styled} == {}


def test_no_link_is_dead(pages: dict[str, Page], docs_site: Path):
    dead = []
    for address, page in pages.items():
        for target, anchor in internal(address, page):
            if target in pages:
                is_there = not anchor or anchor in pages[target].anchors
            elif target.startswith(INDEX):
                is_there = (docs_site / target.removeprefix(INDEX)).is_file() or target == "/docs/api/"
            else:
                is_there = bool(resolve(target))
            if not is_there:
                dead.append(f"{address}: {target}#{anchor}")
    assert dead == []


@pytest.mark.django_db
def test_the_front_page_and_the_api_reference_answer(browser: Client):
    assert [browser.get(path).status_code for path in ("/", "/docs/api/")] == [200, 200]


def test_every_page_is_two_clicks_from_the_first(pages: dict[str, Page]):
    reached, border = {INDEX}, {INDEX}
    for _ in range(CLICKS):
        border = {target for address in border for target, _ in internal(address, pages[address])} & pages.keys()
        border -= reached
        reached |= border
    assert pages.keys() - reached == set()


def test_a_page_loads_nothing_from_elsewhere(pages: dict[str, Page], docs_site: Path):
    for address, page in pages.items():
        for link in page.loads:
            parts = urlsplit(urljoin(f"//host{address}", link))
            assert parts.netloc == "host", (address, link)
            path = parts.path
            found = finders.find(path.removeprefix("/static/")) if path.startswith("/static/") else None
            assert found or (docs_site / path.removeprefix(INDEX)).is_file(), (address, link)


def test_the_policy_allows_the_inline_scripts_of_the_site_and_no_others(browser: Client, docs_site: Path):
    policy = browser.get(INDEX).headers["Content-Security-Policy"]
    built = orjson.loads((docs_site / "build.json").read_bytes())
    assert len(built["scripts"]) > 1
    assert f"script-src {' '.join([chr(39) + 'self' + chr(39), *built['scripts']])};" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    elsewhere = browser.get("/docs/api/").headers["Content-Security-Policy"]
    assert "sha256" not in elsewhere


def test_pages_are_kept_for_a_minute_and_files_named_by_their_hash_for_ever(browser: Client, docs_site: Path):
    for encoding in PRECOMPRESSED:
        reply = browser.get("/docs/start/quickstart/", headers={"Accept-Encoding": encoding})
        assert (reply.status_code, reply.headers["Content-Encoding"]) == (200, encoding)
        assert reply.headers["Cache-Control"] == "max-age=60, public"
    known = {"If-None-Match": reply.headers["ETag"], "Accept-Encoding": encoding}
    assert browser.get("/docs/start/quickstart/", headers=known).status_code == 304
    [script] = docs_site.glob("assets/javascripts/bundle.*.js")
    reply = browser.get(f"/docs/{script.relative_to(docs_site)}")
    assert "immutable" in reply.headers["Cache-Control"]


def test_unknown_pages_are_not_found(browser: Client):
    for path in ("/docs/nope/", "/docs/../run.py", "/docs/build.json.br"):
        assert browser.get(path).status_code == 404


def test_without_a_site_the_page_says_how_to_build_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(settings, "DOCS_SITE", tmp_path / "site")
    page = Client().get(INDEX)
    assert page.status_code == 200
    for command in building.COMMANDS.splitlines():
        assert command in page.content.decode()
    assert Client().get("/docs/start/quickstart/").headers["Location"] == INDEX


def test_a_new_build_replaces_the_site_under_a_running_service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(settings, "DOCS_SITE", tmp_path / "site")
    browser = Client()
    assert b"build_docs" in browser.get(INDEX).content
    call_command("build_docs")
    page = b"".join(browser.get(INDEX))
    assert b"search" in page


def test_the_command_builds_only_what_changed_and_says_what_it_lacks(monkeypatch, docs_site, capsys):
    monkeypatch.setattr(settings, "DOCS_SITE", docs_site)
    call_command("build_docs", "--if-changed")
    assert capsys.readouterr().out == "The documentation site is up to date.\n"
    monkeypatch.setattr(building, "find_spec", lambda _: None)
    with pytest.raises(CommandError, match=r"requirements-docs\.txt"):
        call_command("build_docs")


def test_a_dead_link_stops_the_build_and_keeps_the_old_site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    root, site = tmp_path / "root", tmp_path / "site"
    (root / "docs").mkdir(parents=True)
    (root / "zensical.toml").write_text((ROOT / "zensical.toml").read_text().partition("nav = ")[0])
    (root / "docs" / "README.md").write_text("# Home\n\n[Licence](../LICENSE) and [more](more.md)\n")
    (root / "docs" / "more.md").write_text("# More\n")
    (root / "LICENSE").write_text("Free.\n")
    monkeypatch.setattr(settings, "BASE_DIR", root)
    assert build(site) == 2
    assert (site / "files" / "LICENSE").read_text() == "Free.\n"
    assert 'href="files/LICENSE"' in (site / "index.html").read_text()
    (root / "docs" / "more.md").unlink()
    with pytest.raises(building.BuildError, match=r"more\.md"):
        build(site)
    assert (site / "more" / "index.html").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["root", "site"]


def test_the_image_is_built_with_all_that_the_site_is_built_from():
    taken = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for path in sources():
        name = str(path.relative_to(settings.BASE_DIR))
        assert any(name == one or name.startswith(f"{one}{os.sep}") or fnmatch(name, one) for one in taken), name
