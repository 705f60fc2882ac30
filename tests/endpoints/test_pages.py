import re
import tomllib
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.db import OperationalError, connection
from django.test import Client

from tests.client import ApiClient
from tests.clock import Clock

pytestmark = pytest.mark.django_db  # the front page looks for a demo account

PLACES = ["/", "/docs/", "/docs/api/"]
BRANDED = [*PLACES, "/admin/login/"]


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Client:
    """A client of an installation without a documentation site (tests/documentation/test_site.py has one)."""
    monkeypatch.setattr(settings, "DOCS_SITE", tmp_path / "site")
    return Client()


def links(html: str) -> list[str]:
    return re.findall(r'(?:href|src|data-document)="([^"]+)"', html)


def test_the_front_page_and_the_reference_describe_the_service(browser: Client):
    page = browser.get("/")
    html = page.content.decode()
    assert page.headers["Content-Type"].startswith("text/html")
    assert "<h1>Who may use what you publish, on which terms, at what price</h1>" in html
    assert {"/docs/", "/v1/openapi.json", "/admin/", "/readyz"} <= set(links(html))
    assert 'data-document="/v1/openapi.json"' in browser.get("/docs/api/").content.decode()
    assert "dataset.document" in Path(finders.find("pages/reference.js") or "").read_text()


def test_all_pages_have_one_name_one_mark_and_one_set_of_colours(browser):
    for path in BRANDED:
        html = browser.get(path).content.decode()
        assert "Content Access Licensing</title>" in " ".join(html.split()).replace(" </title>", "</title>")
        assert html.count("/static/brand/mark.svg") >= 2  # the icon of the tab, and the mark on the page
        assert "/static/brand/brand.css" in html
    for name in ("pages/bar.css", "pages/pages.css", "pages/home.css"):
        text = Path(finders.find(name) or "").read_text()
        assert set(re.findall(r"#[0-9a-f]{3,8}\b|oklch\(|rgb\(", text)) <= {"#fff"}


def test_pages_link_only_to_themselves_and_run_no_inline_script(browser):
    for path in PLACES:
        page = browser.get(path)
        html, policy = page.content.decode(), page.headers["Content-Security-Policy"]
        for link in links(html):
            assert link.startswith("/")
            assert browser.get(link).status_code in (200, 302), link
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy
        assert re.findall(r"<script(?![^>]* src=)|<style| style=| on\w+=|javascript:", html) == []


@pytest.mark.slow
def test_the_document_is_counted_by_client_address(anonymous: ApiClient, clock: Clock):
    assert [anonymous.get("/v1/openapi.json").status for _ in range(61)] == [200] * 60 + [429]


def test_the_document_and_the_probes_need_no_key(browser: Client, monkeypatch: pytest.MonkeyPatch):
    assert browser.get("/livez").json() == {"status": "ok"}
    monkeypatch.setattr(connection, "cursor", fail)
    assert browser.get("/livez").status_code == 200
    reply = browser.get("/readyz")
    assert (reply.status_code, reply.json()["status"]) == (503, "unavailable")
    monkeypatch.undo()
    assert browser.get("/readyz").status_code == 200


def test_readyz_and_the_metrics_name_dependencies_and_version(browser: Client):
    version = tomllib.loads((Path(settings.BASE_DIR) / "pyproject.toml").read_text())["project"]["version"]
    reply = browser.get("/readyz")
    ready = reply.json()
    assert (reply.status_code, ready["status"], ready["checks"]["database"]) == (200, "ok", "ok")
    assert ready["checks"]["limits"] in ("redis", "this process")
    assert ready["version"] == version
    reply = browser.get("/metrics")
    assert reply.headers["Content-Type"].startswith("text/plain")
    assert f'licensing_build_info{{version="{version}"}} 1.0' in reply.content.decode()
    assert "limiter_fallbacks_total" in reply.content.decode()


def fail(*args: object, **kwargs: object) -> None:
    raise OperationalError("the connection is gone")
