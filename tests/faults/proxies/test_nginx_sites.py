"""The generated nginx file serves long host names, rewrites redirects of the origin, and passes readers' tokens on."""

import re

import httpx

from run import ROOT
from tests.faults.proxies.origin import Quiet, serving
from tests.faults.proxies.pages import FROM_THE_ORIGIN, reply_of, status_of
from tests.faults.proxies.programs import HOST, Place, running
from tests.services import free_port

LABEL = "a" * 61
LONG_HOST = f"{LABEL}1.{LABEL}2.{LABEL}3.{'b' * 56}.example"


class Redirecting(Quiet):
    """An origin that sends visitors from /open/port to its own port, and elsewhere from other pages."""

    def serve(self) -> None:
        port = self.server.server_address[1]
        targets = {
            "/open/port": f"http://{self.headers['Host']}:{port}/open/port/?x=1",
            "/open/other": f"http://{self.headers['Host']}:9/open/",
            "/open/www": f"http://www.{HOST}/open/",
            "/robots.txt": None,
        }
        target = targets[self.path]
        if target is None:
            self.answer(200)
        else:
            self.answer(301, Location=target)


def site_file(site: httpx.Client, site_id: str) -> str:
    """Return the site's file for nginx."""
    return site.get(f"/sites/{site_id}/proxy-config", params={"for": "nginx"}).json()["content"]


def key_of_proxy(site: httpx.Client) -> str:
    fields = {"name": "Proxy", "type": "secret", "permissions": ["access:check"]}
    return site.post("/api-keys", json=fields).json()["key"]


def test_nginx_serves_a_site_whose_hosts_have_253_characters(nginx, site, origin, tmp_path):
    assert len(LONG_HOST) == 253
    aliases = [f"{number}{LONG_HOST[1:]}" for number in range(10)]
    made = site.post("/sites", json={"host": LONG_HOST, "mode": "observe", "aliases": aliases})
    assert made.status_code == 201, made.text
    site_id = made.json()["id"]
    key = site.post("/api-keys", json={"name": "Long", "type": "secret", "permissions": ["access:check"]}).json()[
        "key"
    ]
    content = site_file(site, site_id)
    port = int(site.base_url.port or 0)
    at = Place(key, port, origin, free_port(), tmp_path, generated=content, host=LONG_HOST)
    try:
        with running(nginx, at):
            served = [host for host in (LONG_HOST, *aliases) if FROM_THE_ORIGIN in reply_of(at.port, "/a", host)]
            assert served == [LONG_HOST, *aliases]
            assert status_of(reply_of(at.port, "/a", f"x{LONG_HOST[1:]}")) == 421
    finally:
        site.delete(f"/sites/{site_id}").raise_for_status()


def test_the_origins_redirects_to_its_own_port_stay_at_the_visitors_address(nginx, server, publisher, tmp_path):
    with serving(Redirecting) as origin:
        at = Place(publisher.edge_key, server.port, origin, free_port(), tmp_path, observes=True)
        with running(nginx, at):
            replies = {path: reply_of(at.port, f"/open/{path}") for path in ("port", "other", "www")}
    assert b"\r\nlocation: /open/port/?x=1\r\n" in replies["port"]
    assert f"\r\nlocation: http://{HOST}:9/open/\r\n".encode() in replies["other"]
    assert f"\r\nlocation: http://www.{HOST}/open/\r\n".encode() in replies["www"]


def test_http_3_whose_host_nginx_does_not_show_as_a_header_is_served(nginx, server, publisher, origin, tmp_path):
    shipped = (ROOT / "deploy" / "edge" / "nginx.conf").read_text()
    over_http_3 = shipped.replace('map "$server_protocol $http_host"', 'map "HTTP/3.0 "')
    assert over_http_3 != shipped
    at = Place(publisher.edge_key, server.port, origin, free_port(), tmp_path, generated=over_http_3)
    with running(nginx, at):
        statuses = [status_of(reply_of(at.port, "/open/a", host)) for host in (HOST, f"x{HOST}")]
    assert statuses == [200, 421]


def test_a_signed_in_reader_whose_cookie_has_a_licence_token_reads_what_it_opens(nginx, site, origin, tmp_path):
    port = int(site.base_url.port or 0)
    licensed = {"action": "allow", "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]}
    policies = [site.post("/policies", json={"name": "Subscribers", "rules": [licensed]}).json()["id"] for _ in "ab"]
    host = "subscribers.example"
    rules = [{"pattern": "/premium/", "policyId": policies[0]}, {"pattern": "/archive/", "policyId": policies[1]}]
    made = site.post("/sites", json={"host": host, "mode": "enforce", "rules": rules}).json()
    site.post("/licenses", json={"requesterId": "subscribers", "licenseType": "commercial"}).raise_for_status()
    client = site.post("/license-clients", json={"requesterId": "subscribers", "name": "Login"}).json()
    terms = httpx.get(f"http://127.0.0.1:{port}/license.xml", headers={"Host": host}).text
    licence, _ = re.findall("<license(>.*</license>)", terms)
    form = {
        "grant_type": "client_credentials",
        "client_id": client["id"],
        "client_secret": client["secret"],
        "resource": f"https://{host}/*",
        "license": f'<license xmlns="https://rslstandard.org/rsl"{licence}',
    }
    reply = httpx.post(f"http://127.0.0.1:{port}/olp/token", data=form)
    assert reply.status_code == 200, reply.text
    token = reply.json()["access_token"]
    key = key_of_proxy(site)
    at = Place(key, port, origin, free_port(), tmp_path, generated=site_file(site, made["id"]), host=host)
    cookies = {
        "none": "",
        "token": f"Cookie: a=b; licensing_token={token}\r\n",
        "forged": f"Cookie: licensing_token={token[:-4]}AAAA\r\n",
        "an id": "Cookie: licensing_token=subscribers\r\n",
        "a token of the site's own application": f"Cookie: licensing_token={token}\r\nAuthorization: Bearer YTpi\r\n",
        "an unknown key": f"Cookie: licensing_token={token}\r\nAuthorization: Bearer {key[:-6]}abcdef\r\n",
        "an invalid licence token": f"Cookie: licensing_token={token}\r\nAuthorization: License YTpi\r\n",
        "an empty cookie first": f"Cookie: licensing_token=; a=b;licensing_token={token}\r\n",
        "an empty cookie last": f"Cookie: licensing_token={token}; licensing_token=\r\n",
        "an older cookie first": f"Cookie: licensing_token={token[:-4]}AAAA; licensing_token={token}; a=b\r\n",
        "a cookie of another name": f"Cookie: my_licensing_token={token}\r\n",
        "a password": f"Cookie: licensing_token={token}\r\nAuthorization: Basic YTpi\r\n",
        "a password alone": "Authorization: Basic YTpi\r\n",
        "a ticket alone": f"Authorization: Negotiate {'Y' * 7_000}\r\n",
    }
    try:
        with running(nginx, at):
            statuses = {
                name: status_of(reply_of(at.port, "/premium/a", host, cookie)) for name, cookie in cookies.items()
            }
            in_the_archive = status_of(reply_of(at.port, "/archive/a", host, cookies["token"]))
            site.patch(f"/sites/{made['id']}", json={"mode": "observe"}).raise_for_status()
            reply_of(at.port, "/premium/observed", host, cookies["token"])
            reply_of(at.port, "/premium/observed", host)
            seen = [
                (one["requester"]["id"], one.get("observed"))
                for one in site.get("/access/decisions", params={"url": f"https://{host}/premium/observed"}).json()[
                    "data"
                ]
            ]
    finally:
        site.delete(f"/sites/{made['id']}").raise_for_status()
    refused = {"none": 402, "forged": 401, "an id": 402, "an unknown key": 402, "an invalid licence token": 401}
    refused |= {"a password alone": 402, "a ticket alone": 402, "a cookie of another name": 402}
    assert statuses == dict.fromkeys(cookies, 200) | refused
    assert in_the_archive == 200
    assert ("subscribers", None) in seen
    assert ("anonymous", {"allowed": False, "reason": "no_license"}) in seen
