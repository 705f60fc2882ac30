import re
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.test import Client

from licensing.edge.publishing.documents import DOCUMENTS

pytestmark = pytest.mark.django_db

FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
OUTSIDE = ["/nope", "/nope/guides/", "/v2/content", "/v1content", "/static/nope.css"]


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


def get(client, path, accept, **options):
    return client.get(path, headers={"Accept": accept}, **options)


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_browser_gets_a_page_that_leads_on(client, path):
    reply = get(client, path, FIREFOX)
    html = reply.content.decode()
    assert (reply.status_code, reply.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert f"<code>{path}</code>" in html
    assert "Accept" in reply.headers["Vary"]
    for link in re.findall(r'<li><a href="([^"]+)"', html):
        assert client.get(link).status_code == 200


def test_a_program_gets_json(client):
    for path in OUTSIDE:
        for accept in ["*/*", "application/json", ""]:
            reply = get(client, path, accept)
            assert (reply.status_code, reply.json()["error"]["code"]) == (404, "resource_not_found")


def test_pages_repeat_no_markup_and_tell_no_hidden_admin(client, settings):
    assert b"<script>" not in get(client, "/<script>alert(1)</script>", FIREFOX).content
    assert len(get(client, "/" + "x" * 5_000, FIREFOX).content) < 5_000
    for path in ["/v1", "/v1/", "/v1/nope", "/v1/content"]:
        assert get(client, path, FIREFOX).json()["error"]["code"] in ("resource_not_found", "missing_api_key")
    settings.ADMIN_HOST = "admin.example"
    assert "Not found" in get(client, "/admin/nope/", FIREFOX).content.decode()
    assert get(client, "/admin/nope/", "*/*").json()["error"]["code"] == "resource_not_found"


def test_an_unknown_host_and_a_failure_get_the_same_page(client, monkeypatch):
    for accept, kind in [(FIREFOX, "text/html"), ("*/*", "application/json")]:
        reply = get(client, "/", accept, HTTP_HOST="elsewhere.example")
        assert (reply.status_code, reply.headers["Content-Type"].partition(";")[0]) == (400, kind), accept
    monkeypatch.setattr("config.pages.render", Mock(side_effect=RuntimeError))
    for accept, kind in [(FIREFOX, "text/html"), ("*/*", "application/json")]:
        reply = get(client, "/docs/api/", accept)
        assert (reply.status_code, reply.headers["Content-Type"].partition(";")[0]) == (500, kind)
        assert "request id" in reply.content.decode()


def test_documents_are_503_while_the_database_is_down_and_log_no_traceback(client, monkeypatch, caplog):
    for path, look_up in [
        ("/license.xml", "licensing.edge.middleware.site_at"),
        ("/robots.txt", "licensing.edge.middleware.site_at"),
        ("/.well-known/jwks.json", "config.pages.key_set"),
    ]:
        monkeypatch.setattr(look_up, Mock(side_effect=OperationalError("connection refused")))
        host = "pub.example" if path in DOCUMENTS else "testserver"
        reply = get(client, path, "*/*", HTTP_HOST=host)
        assert (reply.status_code, reply.headers.get("Retry-After")) == (503, "1")
        assert reply.json()["error"]["code"] == "service_unavailable"
        assert not any(record.exc_info for record in caplog.records)
