"""The guide to five free articles a month, with nginx and Caddy (docs/guides/free-articles.md)."""

import json
import re

import httpx
import pytest

from tests.documentation.blocks import block
from tests.faults.proxies.programs import HOST

GUIDE = "docs/guides/free-articles.md"


@pytest.fixture
def articles(site, publisher, proxy):
    """A folder of articles with the guide's policy."""
    if proxy.name not in ("nginx", "caddy"):
        pytest.skip("test_decisions.py reads behind the others.")
    written = re.search(r"api policies -d '(.*?)'", block(GUIDE, "POLICY="), re.DOTALL)
    policy = site.post("/policies", json=json.loads(written[1])).json()["id"]
    folder = f"/articles/of-{proxy.name}/"
    rules = site.get(f"/sites/{publisher.site_id}").json()["rules"]
    site.patch(f"/sites/{publisher.site_id}", json={"rules": [*rules, {"pattern": folder, "policyId": policy}]})
    yield folder
    site.patch(f"/sites/{publisher.site_id}", json={"rules": rules}).raise_for_status()


def test_a_reader_has_five_articles_and_a_subscriber_all(visit, site, port, articles):
    with httpx.Client(base_url=f"http://{HOST}:{port}", transport=ToTheProxy()) as reader:
        assert [reader.get(f"{articles}{number}").status_code for number in range(1, 8)] == [200] * 5 + [429] * 2
        refused = reader.get(f"{articles}9")
        assert int(refused.headers["Retry-After"]) > 0
        assert "licensing_visitor" in reader.cookies
        assert reader.get("/about").status_code == 200
    with httpx.Client(base_url=f"http://{HOST}:{port}", transport=ToTheProxy()) as other:
        assert other.get(f"{articles}1").status_code == 200
    subscriber = site.post(
        "/api-keys", json={"name": "Reader", "type": "secret", "permissions": ["content:read"]}
    ).json()
    site.post("/licenses", json={"requesterId": subscriber["id"], "licenseType": "reader"}).raise_for_status()
    key = {"Authorization": f"Bearer {subscriber['key']}"}
    assert [visit.get(f"{articles}{number}", headers=key).status_code for number in range(7)] == [200] * 7


class ToTheProxy(httpx.HTTPTransport):
    """Connect to the local proxy for pub.example, so that cookies belong to the site."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url.copy_with(host="127.0.0.1")
        return super().handle_request(httpx.Request(request.method, url, headers={**request.headers, "host": HOST}))
