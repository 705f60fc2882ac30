"""Replies to visitors through a proxy, and the requests that reach the origin."""

from contextlib import closing
from http.client import HTTPConnection

from tests.faults.proxies.pages import FORGED


def test_denials_have_a_status_a_body_and_what_would_help(visit, proxy):
    assert visit.get("/open/a").status_code == 200
    assert visit.get("/about").status_code == 200
    assert visit.get("/licensed/a").status_code == 402
    assert visit.get("/searched/a").status_code == 403
    assert visit.get("/licensed/a", headers={"Authorization": "License nope"}).status_code == 401

    denied = [visit.get("/licensed/a"), visit.get("/searched/a")]
    denied.append(visit.get("/licensed/a", headers={"Authorization": "License nope"}))
    assert [reply.status_code for reply in denied] == [402, 403, 401]
    assert {reply.headers["Content-Type"] for reply in denied} == {"application/json"}
    assert all(reply.json()["error"]["message"] for reply in denied)
    assert denied[0].json()["error"]["message"] == "Not for you."

    licensed = visit.get("/licensed/a")
    assert licensed.headers["Link"] == '<http://pub.example/license.xml>; rel="license"; type="application/rsl+xml"'
    assert licensed.headers["WWW-Authenticate"].startswith("License error=")
    assert visit.get("/priced/a").headers["crawler-price"] == "USD 0.01"


def test_a_used_up_limit_is_429_with_a_time_to_come_again(visit, proxy):
    replies = [visit.get(f"/once/{proxy.name}/a") for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 429]
    assert int(replies[1].headers["Retry-After"]) > 0


def test_each_reader_has_five_articles_by_its_cookie(visit, proxy):
    folder = f"/metered/{proxy.name}"

    def read(number, cookie):
        return visit.get(f"{folder}/{number}", headers={"Cookie": f"theme=dark{cookie}"})

    first = read("missing", "")  # a 404 of the origin, too, is an answer to this reader
    assert first.status_code == 404
    assert ("link" in first.headers) is proxy.shows_headers
    assert first.headers["cache-control"] == "private"
    set_cookies = first.headers.get_list("set-cookie")
    assert {line.partition("=")[0] for line in set_cookies} == {"own", "licensing_visitor"}
    [kept] = [f"; {line.partition(';')[0]}" for line in set_cookies if line.startswith("licensing_visitor")]
    assert [read(number, kept).status_code for number in range(2, 8)] == [200] * 4 + [429] * 2
    assert [read(number, "").status_code for number in range(1, 6)] == [200] * 5  # the next readers at this address


def test_visitors_are_not_told_the_limits_of_the_site(visit):
    for path, status in {"/open/a": 200, "/license.xml": 200, "/licensed/a": 402, "/searched/a": 403}.items():
        reply = visit.get(path)
        assert (path, reply.status_code) == (path, status)
        assert (path, [name for name in reply.headers if "ratelimit" in name]) == (path, [])


def test_assets_are_not_asked_about(visit):
    for path in ("/assets/site.css", "/assets/fonts/a-1.2.woff2", "/assets/app.min.js?v=3"):
        reply = visit.get(path, headers=FORGED)
        assert (path, reply.status_code) == (path, 200)
        seen = {name.replace("_", "-"): value for name, value in reply.json().items()}
        assert not [name for name in seen if name.startswith(("x-access-", "x-licensing-"))]
    for path in ("/assets/report.pdf", "/assets/a", "/licensed/site.css", "/assets/.css", "/assets/a.css/b"):
        assert (path, visit.get(path).status_code) in ((path, 402), (path, 403))


def test_forgeries_and_spellings_open_no_closed_page_and_spare_no_price(visit):
    for path in ("//licensed/a", "/open/%2e%2e/licensed/a", "/%6cicensed/a", "/licensed%2Fa", "/licensed/a?x=/open/"):
        address = f"{str(visit.base_url).removesuffix('/')}{path}"  # joined by httpx, // would begin a host
        assert (path, visit.get(address).status_code) in ((path, 402), (path, 400))  # some refuse %2F
    assert visit.get("/licensed/a", headers=FORGED).status_code == 402
    for name, value in FORGED.items():
        assert (name, visit.get("/licensed/a", headers={name: value}).status_code) == (name, 402)
    assert visit.get("/priced/a", headers=FORGED).headers["crawler-price"] == "USD 0.01"


def test_the_origin_sees_what_was_decided_and_neither_forgeries_nor_the_key(visit, publisher, proxy):
    for path in ("/open/a", "/about", "/robots.txt"):
        seen = visit.get(path, headers=FORGED).json()
        access = {name: value for name, value in seen.items() if name.replace("_", "-").startswith("x-access-")}
        assert "forged" not in access.values()
        assert not [name for name in seen if name.replace("_", "-").startswith("x-licensing-")]
        assert publisher.edge_key not in str(seen)
        if path == "/open/a":
            assert access["x-access-requester"] == "anonymous"


def test_naming_the_proxys_headers_in_connection_opens_nothing(visit):
    names = ["X-Licensing-Key", "X-Access-Decision", "X-Access-Requester", "User-Agent"]
    names += [f"X-Forwarded-{name}" for name in ("Uri", "Host", "Method", "Proto", "For")]
    for connection in (", ".join(names), *names):
        reply = visit.get("/licensed/a", headers={"Connection": connection, "X-Forwarded-Uri": "/open/a"})
        assert (connection, b"of the origin" in reply.content) == (connection, False)
        seen = visit.get("/open/a", headers={"Connection": connection, **FORGED})
        assert b"forged" not in seen.content.replace(b'"x-forwarded-for"', b"")


def test_no_visitor_changes_the_protocol_to_the_origin(visit):
    """After an upgrade to HTTP/2 the proxy would forward the following bytes unread."""
    upgrade = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAARAAAAAAAIAAAAA"}
    reply = visit.get("/open/a", headers=upgrade)
    assert reply.status_code in (200, 400, 403, 501)
    assert reply.status_code != 200 or not {"upgrade", "http2-settings"} <= reply.json().keys()


def test_the_terms_are_published_under_the_sites_host_without_the_visitors_headers(visit):
    reply = visit.get("/license.xml", headers={"X-Forwarded-Host": "other.example"})
    assert (reply.status_code, reply.headers["Content-Type"]) == (200, "application/rsl+xml")
    assert b"https://pub.example/licensed/" in reply.content
    assert visit.get("/.well-known/tdmrep.json").json()[-1] == {"location": "/", "tdm-reservation": 1}

    for headers in ({"Authorization": "License nope"}, {"Authorization": "Bearer svc_sk_nope"}, {"Cookie": "a=b"}):
        assert visit.get("/license.xml", headers=headers).status_code == 200
    tag = visit.get("/license.xml").headers["ETag"]
    assert visit.get("/license.xml", headers={"If-None-Match": tag}).status_code == 304


def test_no_spelling_of_the_terms_reaches_another_endpoint_of_the_service(port, visit):
    for target in (
        "/v1/access/envoy/../../../license.xml",
        "/v1/requesters/%2e%2e/%2e%2e/license.xml",
        "/v1/content/..%2f..%2flicense.xml",
        "//v1/..//license.xml?x=/v1/content",
    ):
        with closing(HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
            connection.request("GET", target, headers={"Host": "pub.example"})
            reply = connection.getresponse()
            body = reply.read()
        assert reply.status >= 400 or b"<rsl " in body or b"of the origin" in body, target
        assert "ratelimit" not in str(reply.headers).lower(), target


def test_from_observing_to_enforcing(visit, site, publisher):
    site.patch(f"/sites/{publisher.site_id}", json={"mode": "observe"})
    assert visit.get("/licensed/a").status_code == 200
    site.patch(f"/sites/{publisher.site_id}", json={"mode": "enforce"})
    assert visit.get("/licensed/a").status_code == 402
